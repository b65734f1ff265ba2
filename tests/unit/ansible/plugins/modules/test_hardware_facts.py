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


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("module", ["hardware_facts"], indirect=True)
@pytest.mark.parametrize(
    ("smi", "lines", "message"),
    [
        (
            "echo 'GPU-1, 580.126.20'; echo 'GPU-2, 580.126.20'",
            ["GPU-1, 580.126.20", "GPU-2, 580.126.20"],
            "",
        ),
        ("echo 'NVIDIA-SMI has failed'; exit 9", [], "NVIDIA-SMI has failed"),
        ("exec sleep 60", [], "nvidia-smi did not answer within 0.2 seconds"),
        (None, [], "nvidia-smi is not installed"),
    ],
)
def test_the_drivers_own_words_are_asked_for(
    module: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    smi: str | None,
    lines: list[str],
    message: str,
) -> None:
    programs = tmp_path / "programs"
    program(programs, "nv-fabricmanager", "echo 'Fabric Manager version is : 580.126.20'")
    program(programs, "systemctl", "echo inactive; exit 3")
    if smi is not None:
        program(programs, "nvidia-smi", smi)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    if smi and "sleep" in smi:
        monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    write(tmp_path / "interfaces.json", '{"infiniband": "ibp65s0"}')
    host = module.platform.node().partition(".")[0]
    write(tmp_path / "telemetry" / f"{host}.json", '{"gpus": [{"uuid": "GPU-1"}]}')
    rdma = [{"name": "ibp65s0", "device": "mlx5_2"}, {"name": "ens1f0np0", "device": "mlx5_1"}]
    ports = [{"device": device, "port": "1", "state": "INIT"} for device in ("mlx5_1", "mlx5_2")]
    found = module.ask_drivers(str(tmp_path / "telemetry"), str(tmp_path / "interfaces.json"), rdma, ports)
    assert (found["smi"], found["smi_message"]) == (lines, message)
    assert (found["fabric_manager"], found["fabric_version"]) == ("inactive", "580.126.20")
    assert found["offered"] == [{"uuid": "GPU-1"}]
    assert found["fabric_ports"] == [
        {"device": "mlx5_2", "port": "1", "state": "INIT", "interface": "ibp65s0"}
    ]
