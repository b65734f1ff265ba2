"""Hardware that a test host does not have, laid out as the kernel would show it, under a folder of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

MELLANOX = "0x15b3"
H100, A100, V100, NVSWITCH, CONNECTX7 = "0x2330", "0x20b0", "0x1db1", "0x22a3", "0x1021"


@dataclass(frozen=True)
class Card:
    """One PCI function; identifiers as sysfs writes them."""

    vendor: str
    device: str
    kind: str


def gpu(device: str) -> Card:
    return Card("0x10de", device, "0x030200")


def nvswitch() -> Card:
    return Card("0x10de", NVSWITCH, "0x068000")


def infiniband_card() -> Card:
    return Card(MELLANOX, CONNECTX7, "0x020700")


MODPROBE = """#!/bin/sh
# Interfaces of InfiniBand appear with their module, as on a machine.
for module in "$@"; do
  case $module in --*) continue;; esac
  mkdir -p /hardware/sys/module/$module
  [ $module = ib_ipoib ] || continue
  for device in /hardware/sys/class/infiniband/*/device; do
    mkdir -p $device/net/ibp3s0 /hardware/sys/class/net/ibp3s0
    echo 32 > /hardware/sys/class/net/ibp3s0/type
  done
done
"""


def commands(cards: Sequence[Card], with_nouveau: bool = False, kernel: str = "6.1.0-50-amd64") -> str:
    """What to type on a host so that /hardware/sys shows these cards and nothing else."""
    lines = [
        "rm -rf /hardware/sys",
        "mkdir -p /hardware/sys/bus/pci/devices /hardware/sys/module /hardware/proc/sys/kernel",
        f"echo {kernel} > /hardware/proc/sys/kernel/osrelease",
    ]
    for number, card in enumerate(cards):
        folder = f"/hardware/sys/bus/pci/devices/0000:{number + 1:02x}:00.0"
        lines.append(f"mkdir {folder}")
        for name, value in (("vendor", card.vendor), ("device", card.device), ("class", card.kind)):
            lines.append(f"echo {value} > {folder}/{name}")
        if card.vendor == MELLANOX:
            device = f"/hardware/sys/class/infiniband/mlx5_{number}"
            lines += [f"mkdir -p {device}", f"ln -s {folder} {device}/device"]
    if with_nouveau:
        lines.append("mkdir /hardware/sys/module/nouveau")
    return " && ".join(lines)
