"""Counts, on the machine below, every packet that hosts send to anywhere else than to their own network."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.hosts.machines.host_image import docker
from tests.hosts.machines.testbed import ONLOOKER

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


@contextmanager
def counted(network: str, subnet: str) -> Iterator[Egress]:
    """`subnet`: the first three numbers of the network's addresses; `network` is at most 28 characters long."""
    bridge = f"br-{docker('network', 'inspect', '-f', '{{.Id}}', network).stdout.strip()[:12]}"
    forget(network)
    iptables("-N", network)
    iptables("-A", network, "-d", f"{subnet}.0/24", "-j", "RETURN")
    # A browser asks for names of its own.
    iptables("-A", network, "-s", f"{subnet}.{ONLOOKER}/32", "-j", "RETURN")
    for place in (*STAYS, "0.0.0.0/0"):
        iptables("-A", network, "-d", place, "-j", "RETURN")
    iptables("-I", "PREROUTING", "-i", bridge, "-j", network)
    try:
        yield Egress(network)
    finally:
        forget(network)


def forget(chain: str) -> None:
    """Also what runs that were killed have left, whose bridges had other names."""
    for line in iptables("-S", "PREROUTING").splitlines():
        if line.endswith(f"-j {chain}"):
            iptables("-D", *line.split()[1:])
    iptables("-F", chain, check=False)
    iptables("-X", chain, check=False)
