"""What the hardware asks of the installer: pure functions of the facts that `hardware_facts` collects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NVIDIA, MELLANOX = "0x10de", "0x15b3"
GPU_CLASSES = ("0x0300", "0x0302")
SWITCH_CLASS = "0x0680"
"""A bridge of NVIDIA's own is an NVSwitch."""

GENERATIONS = (
    (0x1340, "Maxwell"),
    (0x15F0, "Pascal"),
    (0x1600, "Maxwell"),
    (0x1B00, "Pascal"),
    (0x1D80, "Volta"),
    (0x1E00, "Turing"),
    (0x2080, "Ampere"),
    (0x2180, "Turing"),
    (0x2200, "Ampere"),
    (0x2300, "Hopper"),
    (0x2380, "Ampere"),
    (0x2600, "Ada"),
    (0x2900, "Blackwell"),
)
"""First device id of each range, in order; a range goes on to the next line.

Source: the table of supported GPUs in NVIDIA's open-gpu-kernel-modules, and the PCI id database. GH200's
0x2342 lies in Hopper's range and is named apart.
"""
GRACE_HOPPER = frozenset({0x2342, 0x2345, 0x2348})
CLOSED_ONLY = frozenset({"Maxwell", "Pascal", "Volta"})
"""Before Turing there is no GSP, without which the open modules do not work."""
OPEN_ONLY = frozenset({"Blackwell", "Grace Hopper"})

Pci = Sequence[Mapping[str, Any]]


class NoFlavour(ValueError):
    """No kind of kernel module serves every GPU of the host, or not the wanted one."""


def nvidia_gpus(pci: Pci) -> list[Mapping[str, Any]]:
    """The GPUs among NVIDIA's functions; a card's audio and USB functions are none."""
    return [each for each in pci if each["vendor"] == NVIDIA and each["class"].startswith(GPU_CLASSES)]


def nvidia_switches(pci: Pci) -> list[Mapping[str, Any]]:
    return [each for each in pci if each["vendor"] == NVIDIA and each["class"].startswith(SWITCH_CLASS)]


def mellanox_cards(pci: Pci) -> list[Mapping[str, Any]]:
    return [each for each in pci if each["vendor"] == MELLANOX and each["class"].startswith("0x02")]


def gpu_generation(device: str) -> str:
    """From a PCI device id as sysfs writes it, `0x20b0`. Ids above the table are newer than Blackwell's first."""
    number = int(device, 16)
    if number in GRACE_HOPPER:
        return "Grace Hopper"
    found = "older than Maxwell"
    for first, generation in GENERATIONS:
        if number >= first:
            found = generation
    return found


def nvidia_flavour(pci: Pci, wanted: str = "auto") -> str:
    """`open` or `proprietary` for all GPUs of one host. Raises NoFlavour with the reason and the way out."""
    generations = sorted({gpu_generation(each["device"]) for each in nvidia_gpus(pci)})
    if "older than Maxwell" in generations:
        raise NoFlavour("A GPU of this host is older than Maxwell: no driver that is still kept supports it.")
    closed = [each for each in generations if each in CLOSED_ONLY]
    opened = [each for each in generations if each in OPEN_ONLY]
    if closed and opened:
        raise NoFlavour(
            f"{closed[0]} needs the proprietary kernel modules and {opened[0]} the open ones, and a host has one "
            "kind only. Put these GPUs into different hosts."
        )
    needed = "proprietary" if closed else "open"
    if wanted == "auto" or wanted == needed:
        return needed
    if wanted == "open" or opened:
        raise NoFlavour(
            f"nvidia_driver_flavour is {wanted}, but {(closed or opened)[0]} works with the {needed} modules only. "
            "Take nvidia_driver_flavour out of the inventory."
        )
    return wanted


def foreign_driver_packages(installed: Sequence[str], branch: str) -> list[str]:
    """Names of installed NVIDIA driver packages of another branch than `branch`: the two must never be mixed.

    >>> foreign_driver_packages(["nvidia-open-570", "nvidia-open-580", "vim"], "580")
    ['nvidia-open-570']
    """
    return sorted(name for name in installed if (found := branch_of(name)) and found != branch)


def branch_of(package: str) -> str | None:
    """The three digits of a driver package's name; None for packages that carry no branch."""
    if not package.startswith(
        ("nvidia-", "libnvidia-", "linux-modules-nvidia-", "cuda-drivers", "xserver-xorg-video-nvidia")
    ):
        return None
    return next((part for part in package.split("-") if part.isdigit() and len(part) == 3), None)


class FilterModule:
    """The names under which playbooks call them."""

    def filters(self) -> dict[str, Any]:
        return {
            "nvidia_gpus": nvidia_gpus,
            "nvidia_switches": nvidia_switches,
            "mellanox_cards": mellanox_cards,
            "gpu_generation": gpu_generation,
            "nvidia_flavour": nvidia_flavour,
            "foreign_driver_packages": foreign_driver_packages,
        }
