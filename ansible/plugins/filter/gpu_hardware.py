"""What the hardware asks of the installer: pure functions of the facts that `hardware_facts` collects."""

from __future__ import annotations

import re
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
"""Before Turing there is no GSP, without which the open modules do not work. Turing is compute capability 7.5."""
OPEN_ONLY = frozenset({"Blackwell", "Grace Hopper"})

NVLINK5_GPUS = frozenset({"0x2901", "0x3182"})
"""B200 and B300, of which every board has NVSwitches that are on no PCI bus. Those of GB200 belong to their rack."""
UBUNTUS_RELEASE = re.compile(r"(?P<version>\d+[.]\d+)[.]\d+-\d+-(?P<flavour>[a-z][a-z0-9-]*)")
DEBIANS_RELEASE = re.compile(r"\d+[.]\d+[.]\d+-\d+-(?P<flavour>(?:cloud-|rt-)?amd64)")
FIRST_UBUNTU_KERNEL = "6.8"
"""Ubuntu 24.04 came with it; a newer one is of its hardware enablement and has packages of another name."""
WITH_ENABLEMENT = ("generic", "lowlatency", "nvidia")
"""Flavours that are there twice: of the release's kernel, and with -hwe-24.04. Clouds' flavours move on alone."""

Pci = Sequence[Mapping[str, Any]]


class NoFlavour(ValueError):
    """No kind of kernel module serves every GPU of the host, or not the wanted one."""


def nvidia_gpus(pci: Pci) -> list[Mapping[str, Any]]:
    """The GPUs among NVIDIA's functions; a card's audio and USB functions are none."""
    return [each for each in pci if each["vendor"] == NVIDIA and each["class"].startswith(GPU_CLASSES)]


def nvidia_switches(pci: Pci) -> list[Mapping[str, Any]]:
    return [each for each in pci if each["vendor"] == NVIDIA and each["class"].startswith(SWITCH_CLASS)]


def needs_nvlink5(pci: Pci) -> bool:
    """Whether the NVSwitches are managed over InfiniBand: a bridge's VPD says so, or a GPU that is never without."""
    return any(each.get("is_switch_bridge") for each in pci) or any(
        each["device"] in NVLINK5_GPUS for each in nvidia_gpus(pci)
    )


def needs_fabric_manager(pci: Pci) -> bool:
    return bool(nvidia_switches(pci)) or needs_nvlink5(pci)


def mellanox_cards(pci: Pci) -> list[Mapping[str, Any]]:
    """Cards that may carry trainings' traffic; those that manage NVSwitches do not."""
    return [
        each
        for each in pci
        if each["vendor"] == MELLANOX
        and each["class"].startswith("0x02")
        and not each.get("is_switch_bridge")
    ]


def kernel_flavour(release: str, distribution: str) -> str:
    """What packages of this running kernel are called behind `linux-image-`; empty: nobody packages it.

    >>> kernel_flavour("6.14.0-33-generic", "Ubuntu")
    'generic-hwe-24.04'
    """
    if distribution != "Ubuntu":
        debians = DEBIANS_RELEASE.fullmatch(release)
        return debians["flavour"] if debians else ""
    ubuntus = UBUNTUS_RELEASE.fullmatch(release)
    if ubuntus is None:
        return ""
    flavour = ubuntus["flavour"]
    has_enablement = flavour in WITH_ENABLEMENT and ubuntus["version"] != FIRST_UBUNTU_KERNEL
    return f"{flavour}-hwe-24.04" if has_enablement else flavour


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


def generations_without_images(pci: Pci) -> list[str]:
    """Of this host's GPUs, those whose compute capability is below 7.5: the default image has no code for them."""
    old = {*CLOSED_ONLY, "older than Maxwell"}
    return sorted({gpu_generation(each["device"]) for each in nvidia_gpus(pci)} & old)


def nvidia_flavour_problem(pci: Pci, wanted: str = "auto") -> str:
    """Why no kernel modules serve all GPUs of the host; empty: some do, or there are none."""
    if not nvidia_gpus(pci):
        return ""
    try:
        nvidia_flavour(pci, wanted)
    except NoFlavour as problem:
        return str(problem)
    return ""


def foreign_driver_packages(installed: Sequence[str], branch: str, distribution: str = "Debian") -> list[str]:
    """Installed driver packages that cannot stay beside those of `branch`: another branch, or another packaging of it.

    Ubuntu's own packages for servers and those of NVIDIA's repository for desktops replace each other's files.

    >>> foreign_driver_packages(["nvidia-open-570", "nvidia-open-580", "vim"], "580")
    ['nvidia-open-570']
    """
    found = {name: branch_of(name) for name in installed}
    others = [name for name, theirs in found.items() if theirs and theirs != branch]
    if distribution == "Ubuntu":
        others += [
            name
            for name, theirs in found.items()
            if theirs == branch and "-server" not in name and not name.startswith(BESIDE_THE_DRIVER)
        ]
        others += [name for name in installed if name.startswith(NVIDIAS_OWN)]
    return sorted(set(others))


BESIDE_THE_DRIVER = ("nvidia-fabricmanager-", "nvidia-driver-pinning-", "libnvidia-nscq-", "nvidia-firmware-")
NVIDIAS_OWN = (
    "cuda-drivers",
    "nvidia-open",
    "nvidia-dkms-open",
    "nvidia-kernel-open-dkms",
    "nvidia-driver-cuda",
)
"""Names of NVIDIA's own repository that Ubuntu's archive does not have."""


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
            "needs_nvlink5": needs_nvlink5,
            "needs_fabric_manager": needs_fabric_manager,
            "mellanox_cards": mellanox_cards,
            "kernel_flavour": kernel_flavour,
            "gpu_generation": gpu_generation,
            "nvidia_flavour": nvidia_flavour,
            "nvidia_flavour_problem": nvidia_flavour_problem,
            "generations_without_images": generations_without_images,
            "foreign_driver_packages": foreign_driver_packages,
        }
