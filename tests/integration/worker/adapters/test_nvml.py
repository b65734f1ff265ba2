"""The real pynvml over a small stand-in library, so that nothing here needs a GPU."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worker.adapters.nvml import has_nvidia_hardware, read_gpus

STAND_IN = Path(__file__).parents[3] / "data" / "nvml" / "stand_in.c"
PROGRAM = "import dataclasses, json; from worker.adapters.nvml import read_gpus; " + (
    "print(json.dumps(dataclasses.asdict(read_gpus())))"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: apt-get install gcc")
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", STAND_IN], check=True)
    return folder


def look(library: Path, **variables: str) -> dict[str, Any]:
    environment = os.environ | {"LD_LIBRARY_PATH": str(library)} | variables
    command = [sys.executable, "-c", PROGRAM]
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(told)
    return found


def test_gpus_are_known_by_uuid_and_told_to_be_simulated(library: Path) -> None:
    found = look(library)
    assert [gpu["uuid"][:12] for gpu in found["gpus"]] == ["GPU-00000001", "GPU-00000002"]
    first = found["gpus"][0]
    assert (first["model"], first["memory_bytes"]) == ("Stand-in 80GB", 80 * 1024**3)
    assert (first["utilisation"], first["temperature"], first["power"]) == (37, 41, 71.5)
    assert [gpu["minor"] for gpu in found["gpus"]] == [1, 0]
    assert found["driver"] == "580.1 simulated" and found["is_simulated"]


@pytest.mark.parametrize(("variables", "kind"), [({"NVML_STAND_IN_NVLINK": "yes"}, "nvlink"), ({}, "pcie")])
def test_gpus_know_their_island(library: Path, variables: dict[str, str], kind: str) -> None:
    found = look(library, NVML_STAND_IN_COUNT="4", **variables)
    assert [gpu["island"] for gpu in found["gpus"]] == [f"{kind}-0", f"{kind}-0", f"{kind}-1", f"{kind}-1"]


def test_without_the_driver_there_are_none_and_the_problem_is_told(library: Path) -> None:
    found = look(library, NVML_STAND_IN_FAILS="yes")
    assert found["gpus"] == [] and found["problem"]


def test_without_the_library_there_are_none() -> None:
    found = read_gpus()
    if found.gpus:
        pytest.skip("this machine has GPUs")
    assert found.problem


@pytest.mark.parametrize(
    ("vendor", "kind", "expected"),
    [("0x10de", "0x030200", True), ("0x10de", "0x040300", False), ("0x8086", "0x030000", False)],
)
def test_hardware_is_known_by_vendor_and_class(
    tmp_path: Path, vendor: str, kind: str, expected: bool
) -> None:
    device = tmp_path / "0000:01:00.0"
    device.mkdir()
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text(f"{kind}\n")
    assert has_nvidia_hardware(tmp_path) is expected
