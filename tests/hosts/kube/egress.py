"""Counts, on the machine below, every packet that hosts send to anywhere else than to their own network."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.hosts.appliance.host_image import docker

STAYS = ("224.0.0.0/4", "255.255.255.255/32")
"""Multicast of the kernel's own, which no bridge hands on."""


@dataclass(frozen=True)
class Egress:
    chain: str

    def count(self) -> tuple[int, int]:
        """Packets to the machine itself, which show that anything is counted, and to anywhere else."""
        lines = iptables("-nvxL", self.chain).splitlines()[2:]
        packets = [int(line.split()[0]) for line in lines]
        return packets[0], packets[-1]


def iptables(*words: str, check: bool = True) -> str:
    """Of the table in front of everything else."""
    done = subprocess.run(
        ["iptables", "-w", "-t", "raw", *words], capture_output=True, text=True, check=False
    )
    if check and done.returncode != 0:
        raise RuntimeError(f"iptables {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def has(way: Sequence[str]) -> bool:
    words = ["iptables", "-w", "-t", "raw", "-C", *way]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@contextmanager
def counted(network: str, subnet: str) -> Iterator[Egress]:
    """`subnet`: the first three numbers of the network's addresses; `network` is at most 28 characters long."""
    bridge = f"br-{docker('network', 'inspect', '-f', '{{.Id}}', network).stdout.strip()[:12]}"
    way = ("PREROUTING", "-i", bridge, "-j", network)
    forget(network, way)
    iptables("-N", network)
    for place in (f"{subnet}.0/24", *STAYS, "0.0.0.0/0"):
        iptables("-A", network, "-d", place, "-j", "RETURN")
    iptables("-I", *way)
    try:
        yield Egress(network)
    finally:
        forget(network, way)


def forget(chain: str, way: Sequence[str]) -> None:
    """Also what runs that were killed have left, each a way of its own."""
    while has(way):
        iptables("-D", *way)
    iptables("-F", chain, check=False)
    iptables("-X", chain, check=False)
