"""A host's GPUs need kernel modules by their PCI ids, and some packages must not stand side by side."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PLUGIN = Path(__file__).parents[5] / "ansible" / "plugins" / "filter" / "gpu_hardware.py"


def load() -> ModuleType:
    """Ansible loads its plugins by path, too; the folder is no package."""
    spec = importlib.util.spec_from_file_location("gpu_hardware", PLUGIN)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hardware = load()


def functions(*devices: str, kind: str = "0x030200", vendor: str = "0x10de") -> list[dict[str, str]]:
    return [{"vendor": vendor, "device": device, "class": kind, "address": ""} for device in devices]


@pytest.mark.parametrize(
    ("device", "model", "generation", "flavour"),
    [
        ("0x13f2", "Tesla M60", "Maxwell", "proprietary"),
        ("0x17fd", "Tesla M40", "Maxwell", "proprietary"),
        ("0x15f9", "Tesla P100 SXM2", "Pascal", "proprietary"),
        ("0x1b38", "Tesla P40", "Pascal", "proprietary"),
        ("0x1bb3", "Tesla P4", "Pascal", "proprietary"),
        ("0x1db1", "Tesla V100 SXM2", "Volta", "proprietary"),
        ("0x1db6", "Tesla V100 PCIe 32 GB", "Volta", "proprietary"),
        ("0x1df6", "Tesla V100S PCIe", "Volta", "proprietary"),
        ("0x1eb8", "Tesla T4", "Turing", "open"),
        ("0x2187", "GeForce GTX 1650 SUPER", "Turing", "open"),
        ("0x20b0", "A100 SXM4 40 GB", "Ampere", "open"),
        ("0x20b5", "A100 PCIe 80 GB", "Ampere", "open"),
        ("0x2236", "A10", "Ampere", "open"),
        ("0x2684", "GeForce RTX 4090", "Ada", "open"),
        ("0x26b9", "L40S", "Ada", "open"),
        ("0x27b8", "L4", "Ada", "open"),
        ("0x2330", "H100 SXM5", "Hopper", "open"),
        ("0x2335", "H200 SXM", "Hopper", "open"),
        ("0x2342", "GH200", "Grace Hopper", "open"),
        ("0x2901", "B200", "Blackwell", "open"),
        ("0x2bb5", "RTX PRO 6000 Blackwell", "Blackwell", "open"),
        ("0x3182", "B300", "Blackwell", "open"),
    ],
)
def test_the_pci_id_decides_the_modules(device: str, model: str, generation: str, flavour: str) -> None:
    assert hardware.gpu_generation(device) == generation, model
    assert hardware.nvidia_flavour(functions(device)) == flavour, model
    # Every generation that needs the closed modules is older than compute capability 7.5, and no other one is.
    without_images = hardware.generations_without_images([*functions(device, device), *functions("0x2330")])
    assert without_images == ([generation] if flavour == "proprietary" else []), model


@pytest.mark.parametrize(
    ("devices", "wanted", "named"),
    [
        (
            ("0x1db1", "0x2901"),
            "auto",
            "Volta needs the proprietary kernel modules and Blackwell the open ones",
        ),
        (("0x1db1",), "open", "Volta works with the proprietary modules only"),
        (("0x2901",), "proprietary", "Blackwell works with the open modules only"),
        (("0x102d",), "auto", "older than Maxwell"),
    ],
)
def test_what_cannot_work_is_refused_with_its_reason(
    devices: tuple[str, ...], wanted: str, named: str
) -> None:
    with pytest.raises(hardware.NoFlavour, match=named):
        hardware.nvidia_flavour(functions(*devices), wanted)


def test_between_turing_and_hopper_the_proprietary_modules_may_be_chosen() -> None:
    assert hardware.nvidia_flavour(functions("0x20b0", "0x2330"), "proprietary") == "proprietary"


def test_audio_functions_and_switches_are_no_gpus() -> None:
    pci = [*functions("0x10f0", kind="0x040300"), *functions("0x22a3", kind="0x068000"), *functions("0x2330")]
    assert [each["device"] for each in hardware.nvidia_gpus(pci)] == ["0x2330"]
    assert [each["device"] for each in hardware.nvidia_switches(pci)] == ["0x22a3"]


def test_rdma_cards_are_mellanox_network_functions() -> None:
    pci = [
        *functions("0x1021", kind="0x020700", vendor="0x15b3"),
        *functions("0x1021", kind="0x020000", vendor="0x15b3"),
        *functions("0xa2dc", kind="0x080100", vendor="0x15b3"),
    ]
    assert len(hardware.mellanox_cards(pci)) == 2


BRIDGE = functions("0x1021", kind="0x020700", vendor="0x15b3")[0] | {"is_switch_bridge": True}


@pytest.mark.parametrize(
    ("pci", "fabric", "nvlink5"),
    [
        (functions("0x2330"), False, False),
        ([*functions("0x2330"), *functions("0x22a3", kind="0x068000")], True, False),
        ([*functions("0x2901"), BRIDGE], True, True),
        (functions("0x2901"), True, True),
        (functions("0x3182"), True, True),
        (functions("0x2bb5"), False, False),
    ],
)
def test_switches_of_nvlink_5_are_known_although_no_bus_has_them(
    pci: list[dict[str, Any]], fabric: bool, nvlink5: bool
) -> None:
    assert hardware.needs_fabric_manager(pci) is fabric
    assert hardware.needs_nvlink5(pci) is nvlink5
    assert BRIDGE not in hardware.mellanox_cards(pci)


@pytest.mark.parametrize(
    ("release", "distribution", "flavour"),
    [
        ("6.1.0-50-amd64", "Debian", "amd64"),
        ("6.1.0-50-cloud-amd64", "Debian", "cloud-amd64"),
        ("6.12.22+bpo-amd64", "Debian", ""),
        ("6.8.0-45-generic", "Ubuntu", "generic"),
        ("6.17.0-14-generic", "Ubuntu", "generic-hwe-24.04"),
        ("6.8.0-149-lowlatency", "Ubuntu", "lowlatency"),
        ("6.17.0-1008-nvidia", "Ubuntu", "nvidia-hwe-24.04"),
        ("6.14.0-1012-aws", "Ubuntu", "aws"),
        ("6.18.1", "Ubuntu", ""),
    ],
)
def test_the_running_kernel_says_what_its_packages_are_called(
    release: str, distribution: str, flavour: str
) -> None:
    assert hardware.kernel_flavour(release, distribution) == flavour


@pytest.mark.parametrize(
    ("installed", "foreign"),
    [
        (["nvidia-utils-580-server", "linux-modules-nvidia-580-server-open-generic"], []),
        (["nvidia-fabricmanager-580", "nvidia-container-toolkit"], []),
        (
            ["nvidia-driver-580-open", "libnvidia-compute-580"],
            ["libnvidia-compute-580", "nvidia-driver-580-open"],
        ),
        (["cuda-drivers", "nvidia-open"], ["cuda-drivers", "nvidia-open"]),
    ],
)
def test_ubuntus_own_driver_stays_apart_from_nvidias_repository(
    installed: list[str], foreign: list[str]
) -> None:
    assert hardware.foreign_driver_packages(installed, "580", "Ubuntu") == foreign


@pytest.mark.parametrize(
    ("installed", "foreign"),
    [
        (["nvidia-open-580", "libnvidia-compute-580", "vim"], []),
        (["nvidia-open-570", "nvidia-open-580"], ["nvidia-open-570"]),
        (["linux-modules-nvidia-535-server-generic"], ["linux-modules-nvidia-535-server-generic"]),
        (["nvidia-container-toolkit", "libnvidia-container1", "nvidia-persistenced"], []),
        (["cuda-drivers-550", "cuda-toolkit-12-4"], ["cuda-drivers-550"]),
    ],
)
def test_packages_of_another_driver_branch_are_named(installed: list[str], foreign: list[str]) -> None:
    assert hardware.foreign_driver_packages(installed, "580") == foreign
