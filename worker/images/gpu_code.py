"""Reads for which GPUs the libraries of an image have machine code, from the libraries themselves.

nvcc and clang put a container for each source file into a library: machine code by architecture, and PTX, which a
driver compiles for newer GPUs. The layout is that of CUDA's header fatbinary_section.h, and of an entry as cuobjdump
lists it.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from mmap import ACCESS_READ, mmap
from pathlib import Path

from worker.environments.errors import BuiltButNotWorking

MAGIC = struct.pack("<I", 0xBA55ED50)
CONTAINER = struct.Struct("<IHHQ")
ENTRY = struct.Struct("<HHIQIIHHI")
VERSION, LEAST_ENTRY = 1, 64
PTX, MACHINE_CODE = 1, 2
CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0")
"""The compute capabilities that an image for GPUs has to serve, from Turing to Blackwell's servers."""
NEEDED_SHARE = 0.9
"""The share of a library's containers that must have code for a GPU. It is below 1, because a few containers are for
one architecture alone, such as Hopper's matrix instructions.
"""
LIBRARIES = {
    "torch": "torch/lib/libtorch_cuda.so",
    "tensorflow": "tensorflow/libtensorflow_cc.so.2",
    "horovod": "horovod/*/mpi_lib*.so",
    "nccl": "nvidia/nccl/lib/libnccl.so.2",
}


class GpuCode(StrEnum):
    """How a library serves a compute capability."""

    OWN = "own code"
    BY_PTX = "by PTX"
    NONE = "none"


@dataclass(frozen=True)
class LibraryCode:
    """The numbers of containers: all, and those with machine code or PTX by architecture (75 for 7.5)."""

    containers: int
    machine_code: Mapping[int, int]
    ptx: Mapping[int, int]

    def serves(self, capability: str) -> GpuCode:
        """Machine code runs on GPUs of its own major version from its minor version on; PTX on all newer ones.

        https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
        """
        wanted = int(capability.replace(".", ""))
        own = [count for arch, count in self.machine_code.items() if wanted // 10 * 10 <= arch <= wanted]
        if max(own, default=0) >= NEEDED_SHARE * self.containers > 0:
            return GpuCode.OWN
        newer = [count for arch, count in self.ptx.items() if arch <= wanted]
        if max(newer, default=0) >= NEEDED_SHARE * self.containers > 0:
            return GpuCode.BY_PTX
        return GpuCode.NONE


def read_image_code(packages: Path) -> dict[str, LibraryCode]:
    """The code of each library that is installed below `packages` (a site-packages)."""
    files = {name: sorted(packages.glob(pattern)) for name, pattern in LIBRARIES.items()}
    return {name: read_library_code(found) for name, found in files.items() if found}


def read_library_code(files: Iterable[Path]) -> LibraryCode:
    count, codes = 0, {PTX: dict[int, int](), MACHINE_CODE: dict[int, int]()}
    for file in files:
        for container in read_containers(file):
            count += 1
            for kind, architecture in container:
                codes[kind][architecture] = codes[kind].get(architecture, 0) + 1
    return LibraryCode(count, codes[MACHINE_CODE], codes[PTX])


def read_containers(file: Path) -> Iterator[set[tuple[int, int]]]:
    """The kinds and architectures of each container with code in it."""
    with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
        at = data.find(MAGIC)
        while at != -1:
            end = at + len(MAGIC)
            if at + CONTAINER.size <= len(data):
                _, version, head, size = CONTAINER.unpack_from(data, at)
                if version == VERSION and head == CONTAINER.size and at + head + size <= len(data):
                    end = at + head + size
                    if entries := set(read_entries(data, at + head, end)):
                        yield entries
            at = data.find(MAGIC, end)


def read_entries(data: mmap, at: int, end: int) -> Iterator[tuple[int, int]]:
    while at + LEAST_ENTRY <= end:
        kind, _, head, size, *_, architecture = ENTRY.unpack_from(data, at)
        if head < LEAST_ENTRY:
            return
        if kind in (PTX, MACHINE_CODE):
            yield kind, architecture
        at += head + size


def coverage_table(
    codes: Mapping[str, LibraryCode], capabilities: Iterable[str] = CAPABILITIES
) -> dict[str, dict[str, GpuCode]]:
    """How each library serves each compute capability."""
    return {each: {name: code.serves(each) for name, code in codes.items()} for each in capabilities}


def check_coverage(packages: Path) -> dict[str, dict[str, GpuCode]]:
    """Raises BuiltButNotWorking if a library has nothing for a GPU that the image has to serve."""
    table = coverage_table(read_image_code(packages))
    for capability, row in table.items():
        for name, served in row.items():
            if served is GpuCode.NONE:
                line = f"{name} has no code for GPUs of compute capability {capability}"
                raise BuiltButNotWorking("environment.not_working", line=line, log="")
    return table


def format_table(table: Mapping[str, Mapping[str, GpuCode]]) -> str:
    names = list(next(iter(table.values())))
    rows = [["capability", *names], ["---"] * (len(names) + 1)]
    rows += [[capability, *(str(row[name]) for name in names)] for capability, row in table.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
