"""A program opens its own device files, on machines as their makers describe them (tests/data/devices)."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from worker.inside import shim_devices
from worker.inside.shim_devices import Cap, Device, Owned, Rule

MACHINES = sorted((Path(__file__).parents[3] / "data" / "devices").glob("*.yml"))
MINORS = {f"GPU-{number}": number for number in range(8)}


def listing_of(machine: dict[str, Any]) -> list[Device]:
    found = []
    for line in machine["listing"].splitlines():
        path, kind, numbers = line.split()
        major, minor = (int(number) for number in numbers.split(":"))
        found.append(Device(path, kind, major, minor))
    return found


def cases() -> Iterator[Any]:
    for path in MACHINES:
        machine = yaml.safe_load(path.read_text())
        for case in machine["cases"]:
            name = f"{path.stem}-{'+'.join(case['has'])}-{case.get('rdma', False)}"
            yield pytest.param(machine, case, id=name)


@pytest.mark.parametrize(("machine", "case"), [*cases()])
def test_a_program_opens_its_own_devices_and_nothing_else(
    machine: dict[str, Any], case: dict[str, Any]
) -> None:
    listing, caps = listing_of(machine), [Cap(**cap) for cap in machine["caps"]]
    owned, unknown = shim_devices.find_own_gpus(case["has"], MINORS)
    assert unknown == []
    found = shim_devices.device_rules(listing, owned, caps, case.get("rdma", False))
    assert found[: len(shim_devices.STANDARD)] == list(shim_devices.STANDARD)
    more = set(found[len(shim_devices.STANDARD) :])
    wanted = {"/dev/" + name for name in case["opened"]}
    assert more == {Rule(each.kind, each.major, each.minor) for each in listing if each.path in wanted}
    assert len(more) == len(wanted)


def test_a_disk_in_the_place_of_a_gpu_stays_closed() -> None:
    listing = [Device("/dev/nvidia0", "b", 254, 0), Device("/dev/nvidia0x", "c", 1, 1)]
    assert shim_devices.device_rules(listing, [Owned(0, None, None)]) == list(shim_devices.STANDARD)


def test_a_gpu_that_nobody_has_told_of_is_named() -> None:
    assert shim_devices.find_own_gpus(["GPU-0", "GPU-x"], MINORS) == ([Owned(0, None, None)], ["GPU-x"])


def test_the_driver_tells_minors_and_capabilities(tmp_path: Path) -> None:
    """As /proc/driver/nvidia looks: the word of its own about each GPU, and a file for each part of one."""
    files = {
        "gpus/0000:01:00.0/information": "Model: \t\t Stand-in\nGPU UUID:  \t GPU-a\nDevice Minor: \t 1\n",
        "gpus/0000:02:00.0/information": "Model: \t\t Stand-in\nGPU UUID:  \t GPU-????\n",
        "capabilities/gpu1/mig/gi2/access": "DeviceFileMinor: 21\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
        "capabilities/gpu1/mig/gi2/ci0/access": "DeviceFileMinor: 22\nDeviceFileMode: 292\n",
        "capabilities/mig/config": "DeviceFileMinor: 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert shim_devices.read_minors(str(tmp_path)) == {"GPU-a": 1}
    assert shim_devices.read_caps(str(tmp_path)) == [Cap(21, 1, 2, None), Cap(22, 1, 2, 0)]


def test_the_files_of_exactly_these_gpus_are_made() -> None:
    caps = [Cap(21, 1, 2, None), Cap(22, 1, 2, 0), Cap(12, 0, 1, None)]
    assert shim_devices.modprobe_commands([Owned(1, None, None)], caps, "tool") == [
        ["tool", "-c", "1", "-c", "255"],
        ["tool", "-u", "-c", "0"],
        [
            "tool",
            *("-f", "/proc/driver/nvidia/capabilities/gpu1/mig/gi2/access"),
            *("-f", "/proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci0/access"),
        ],
    ]


@pytest.mark.parametrize(
    ("kind", "major", "minor", "access", "answer"),
    [
        (2, 1, 3, 2 | 4, 1),  # /dev/null
        (2, 1, 3, 1, 0),  # made, not opened
        (1, 1, 3, 2, 0),  # a block device with its numbers
        (2, 1, 11, 2, 0),  # /dev/kmsg
        (2, 136, 77, 4, 1),  # any terminal
        (2, 195, 3, 2, 1),
        (2, 195, 4, 2, 0),
    ],
)
def test_the_kernels_program_says_what_the_rules_say(
    kind: int, major: int, minor: int, access: int, answer: int
) -> None:
    program = shim_devices.bpf_program([*shim_devices.STANDARD, Rule("c", 195, 3)])
    assert run(program, (access << 16 | kind, major, minor)) == answer


def run(program: bytes, asked: tuple[int, int, int]) -> int:
    """The few instructions of the kernel's machine that are used (Linux, Documentation/bpf/standardization)."""
    steps = [struct.unpack("=BBhi", program[at : at + 8]) for at in range(0, len(program), 8)]
    registers, at = dict.fromkeys(range(7), 0), 0
    while True:
        code, both, offset, value = steps[at]
        target, source = both & 15, both >> 4
        at += 1
        if code == shim_devices.LOAD_WORD:
            registers[target] = asked[offset // 4]
        elif code == shim_devices.MOVE:
            registers[target] = value
        elif code == shim_devices.COPY:
            registers[target] = registers[source]
        elif code == shim_devices.AND:
            registers[target] &= value
        elif code == shim_devices.SHIFT:
            registers[target] >>= value
        elif code == shim_devices.COMPARE:
            at += offset if registers[target] != value else 0
        else:
            assert code == shim_devices.LEAVE
            return registers[0]
