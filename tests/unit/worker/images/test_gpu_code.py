"""For which GPUs a library has code is read from its containers, as nvcc writes them."""

import struct
from pathlib import Path

import pytest

from tests.unit.worker.images.recorded_root import recorded_root
from worker.environments.errors import BuiltButNotWorking
from worker.images import gpu_code
from worker.images.contents import read_gpu_code
from worker.images.description import ENVIRONMENT_PATH, read_variant
from worker.images.gpu_code import GpuCode, LibraryCode, read_library_code

PTX, MACHINE = 1, 2


def entry(kind: int, architecture: int, size: int = 24) -> bytes:
    head = struct.pack("<HHIQIIHHI", kind, 0x101, 64, size, 0, 0, 8, 0, architecture)
    return head.ljust(64, b"\0") + b"c" * size


def container(*entries: bytes) -> bytes:
    content = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content


def library(folder: Path, *containers: bytes) -> Path:
    file = folder / "libcode.so"
    file.write_bytes(b"\x7fELF" + b"\0" * 60 + b"padding ".join(containers) + b"rest")
    return file


def test_each_container_counts_once_for_an_architecture(tmp_path: Path) -> None:
    twice = container(entry(MACHINE, 90), entry(MACHINE, 90, 40), entry(PTX, 90))
    file = library(tmp_path, container(entry(MACHINE, 75), entry(MACHINE, 90)), twice)
    assert read_library_code([file]) == LibraryCode(2, {75: 1, 90: 2}, {90: 1})


@pytest.mark.parametrize(
    "noise",
    [
        b"",
        struct.pack("<I", 0xBA55ED50),
        struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 2**40),
        struct.pack("<IHHQ", 0xBA55ED50, 7, 16, 0),
        container(b"\0" * 64),
    ],
)
def test_bytes_that_only_look_like_a_container_are_none(tmp_path: Path, noise: bytes) -> None:
    file = tmp_path / "libnoise.so"
    file.write_bytes(b"\x7fELF" + noise)
    assert read_library_code([file]) == LibraryCode(0, {}, {})


@pytest.mark.parametrize(
    ("machine", "ptx", "capability", "served"),
    [
        ({75: 10}, {}, "7.5", GpuCode.OWN),
        ({70: 10}, {}, "7.5", GpuCode.OWN),
        ({80: 10}, {}, "7.5", GpuCode.NONE),
        ({80: 10}, {}, "8.9", GpuCode.OWN),
        ({89: 10}, {}, "8.0", GpuCode.NONE),
        ({80: 10}, {80: 10}, "9.0", GpuCode.BY_PTX),
        ({90: 10}, {90: 10}, "8.0", GpuCode.NONE),
        ({80: 10, 90: 1}, {}, "9.0", GpuCode.NONE),
        ({90: 10}, {90: 9}, "10.0", GpuCode.BY_PTX),
        ({100: 10}, {}, "10.0", GpuCode.OWN),
    ],
)
def test_code_runs_from_its_own_version_on_and_ptx_on_all_newer_gpus(
    machine: dict[int, int], ptx: dict[int, int], capability: str, served: GpuCode
) -> None:
    assert LibraryCode(10, machine, ptx).serves(capability) is served


def test_a_library_without_code_for_a_gpu_that_the_image_has_to_serve_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "torch" / "lib"
    folder.mkdir(parents=True)
    library(folder, container(entry(MACHINE, 80), entry(PTX, 80))).rename(folder / "libtorch_cuda.so")
    with pytest.raises(BuiltButNotWorking) as failed:
        gpu_code.check_coverage(tmp_path)
    assert failed.value.data["line"] == "torch has no code for GPUs of compute capability 7.5"
    library(folder, container(entry(MACHINE, 75), entry(PTX, 75))).rename(folder / "libtorch_cuda.so")
    table = gpu_code.format_table(gpu_code.check_coverage(tmp_path))
    assert "| 7.5 | own code |" in table and "| 10.0 | by PTX |" in table


def test_the_table_of_an_image_for_gpus_goes_into_its_record(tmp_path: Path) -> None:
    root = recorded_root(tmp_path)
    folder = root.path / ENVIRONMENT_PATH.relative_to("/") / "lib/python3.11/site-packages/torch/lib"
    folder.mkdir(parents=True)
    library(folder, container(entry(MACHINE, 75), entry(PTX, 75))).rename(folder / "libtorch_cuda.so")
    table = read_gpu_code(root, read_variant("cuda"))
    assert table["7.5"] == {"torch": "own"} and table["10.0"] == {"torch": "by_ptx"}
    assert read_gpu_code(root, read_variant("cpu")) == {}
