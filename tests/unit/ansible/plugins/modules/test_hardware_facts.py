"""hardware_facts reads cards, switches and interfaces from the kernel's files as they lie under any folder."""

from pathlib import Path
from typing import Any

import pytest

IB = {"type": "32", "carrier": "1"}
ETHERNET = {"type": "1", "carrier": "0"}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_card(root: Path, slot: str, device: str, interface: str, kind: dict[str, str], vpd: str = "") -> None:
    pci = root / "sys/bus/pci/devices" / slot
    for name, value in (("vendor", "0x15b3"), ("device", "0x1021"), ("class", "0x020700"), ("vpd", vpd)):
        write(pci / name, value)
    (pci / "net" / interface).mkdir(parents=True)
    for name, value in kind.items():
        write(root / "sys/class/net" / interface / name, value)
    (root / "sys/class/infiniband" / device).mkdir(parents=True)
    (root / "sys/class/infiniband" / device / "device").symlink_to(pci)


@pytest.mark.parametrize("module", ["hardware_facts"], indirect=True)
def test_interfaces_of_rdma_are_in_the_order_of_the_bus_without_the_switches_own(
    module: Any, tmp_path: Path
) -> None:
    add_card(tmp_path, "0000:81:00.0", "mlx5_1", "ens1f0np0", ETHERNET)
    add_card(tmp_path, "0000:41:00.0", "mlx5_2", "ibp65s0", IB)
    add_card(tmp_path, "0000:c1:00.0", "mlx5_0", "ibp193s0", IB, vpd="SMDL=SW_MNG")
    found = module.read_rdma_interfaces(str(tmp_path))
    assert [(each["name"], each["kind"], each["has_link"]) for each in found] == [
        ("ibp65s0", "infiniband", True),
        ("ens1f0np0", "ethernet", False),
    ]
    assert [each["is_switch_bridge"] for each in module.read_pci(str(tmp_path))] == [False, False, True]


@pytest.mark.parametrize("module", ["hardware_facts"], indirect=True)
@pytest.mark.parametrize(
    ("name", "version"), [("nvidia", "580.105.08"), ("nvidia_current", "535.261.03"), ("nouveau", None)]
)
def test_the_loaded_driver_is_known_by_both_its_names(
    module: Any, tmp_path: Path, name: str, version: str | None
) -> None:
    write(tmp_path / "sys/module" / name / "version", f"{version or ''}\n")
    assert module.read_driver(str(tmp_path)) == version
