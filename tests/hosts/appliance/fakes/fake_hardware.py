"""Hardware that a test host does not have, laid out as the kernel would show it, under a folder of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    return Card("0x15b3", CONNECTX7, "0x020700")


def commands(cards: Sequence[Card], with_nouveau: bool = False) -> str:
    """What to type on a host so that /hardware/sys shows these cards and nothing else."""
    lines = ["rm -rf /hardware/sys", "mkdir -p /hardware/sys/bus/pci/devices /hardware/sys/module"]
    for number, card in enumerate(cards):
        folder = f"/hardware/sys/bus/pci/devices/0000:{number + 1:02x}:00.0"
        lines.append(f"mkdir {folder}")
        for name, value in (("vendor", card.vendor), ("device", card.device), ("class", card.kind)):
            lines.append(f"echo {value} > {folder}/{name}")
    if with_nouveau:
        lines.append("mkdir /hardware/sys/module/nouveau")
    return " && ".join(lines)
