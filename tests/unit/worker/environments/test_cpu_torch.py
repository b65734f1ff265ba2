"""PyTorch's libraries load where NVIDIA's are absent: the same is done here to small libraries of our own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.environments.cpu_torch import make_torch_run_on_cpus
from worker.environments.shared_objects import SharedObject

KERNELS = """
__asm__(".section .nv_fatbin, \\"a\\"\\n.fill 65536, 1, 7\\n.previous");
"""
CUDNN = """
int cudnnCreate(void) { return 7; }
int cudnnVersion = 9;
"""
VERSIONS = "libcudnn.so.9 { global: cudnnCreate; cudnnVersion; };"
PLAIN_CUFILE = "int cuFileOpen(void) { return 8; }"
CUDART = "int cudaGetDeviceCount(void) { return 0; }"
TORCH = """
#include <stdio.h>
extern int cudnnCreate(void), cuFileOpen(void), cudaGetDeviceCount(void), added(int);
extern int cudnnVersion;
int (*address_of_a_function)(void) = cuFileOpen;
int *address_of_data = &cudnnVersion;
int compute(int value) {
  if (cudaGetDeviceCount()) return cudnnCreate() + cuFileOpen();
  puts("no GPU");
  return added(value);
}
"""
OWN = "int added(int value) { return value + 1; }"
LOAD = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).compute(41))"


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Path]:
    """A site-packages with torch, its own second library, and NVIDIA's runtime; two more were there when it was
    linked.
    """
    torch, nvidia, elsewhere = (
        tmp_path / "torch" / "lib",
        tmp_path / "nvidia" / "cuda_runtime" / "lib",
        tmp_path / "x",
    )
    for folder in (torch, nvidia, elsewhere):
        folder.mkdir(parents=True)
    link(elsewhere / "libcudnn.so.9", CUDNN, VERSIONS)
    link(elsewhere / "libcufile.so.0", PLAIN_CUFILE)
    link(nvidia / "libcudart.so.12", CUDART)
    link(torch / "libtorch_cpu.so", OWN)
    libraries = [elsewhere / "libcudnn.so.9", elsewhere / "libcufile.so.0", nvidia / "libcudart.so.12"]
    link(torch / "libtorch_cuda.so", TORCH + KERNELS, libraries=[*libraries, torch / "libtorch_cpu.so"])
    for library in libraries[:2]:
        library.unlink()
    yield tmp_path


def link(target: Path, source: str, versions: str = "", libraries: list[Path] | None = None) -> None:
    script = target.parent / "versions"
    script.write_text(versions)
    words = [f"-Wl,--version-script={script}"] if versions else []
    run_path = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN"
    subprocess.run(
        ["gcc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{target.name}", run_path, "-x", "c", "-"]
        + [*words, "-o", str(target), "-x", "none", *map(str, libraries or [])],
        input=source,
        text=True,
        check=True,
    )
    script.unlink()


def load(packages: Path) -> subprocess.CompletedProcess[str]:
    library = packages / "torch" / "lib" / "libtorch_cuda.so"
    return subprocess.run(
        [sys.executable, "-I", "-c", LOAD, str(library)], capture_output=True, text=True, check=False
    )


def test_a_library_loads_and_computes_without_the_absent_ones(packages: Path) -> None:
    assert "libcudnn.so.9: cannot open" in load(packages).stderr
    assert make_torch_run_on_cpus(packages) == ["libtorch_cuda.so"]
    done = load(packages)
    assert sorted(done.stdout.split()) == ["42", "GPU", "no"], done.stderr


def test_what_is_there_is_still_needed(packages: Path) -> None:
    make_torch_run_on_cpus(packages)
    with SharedObject(packages / "torch" / "lib" / "libtorch_cuda.so") as changed:
        needed = changed.needed()
    assert "libcudart.so.12" in needed and "libtorch_cpu.so" in needed
    assert not {"libcudnn.so.9", "libcufile.so.0"} & set(needed)


def test_kernels_leave_the_file(packages: Path) -> None:
    library = packages / "torch" / "lib" / "libtorch_cuda.so"
    before = library.stat()
    make_torch_run_on_cpus(packages)
    after = library.stat()
    assert 57344 <= before.st_size - after.st_size <= 65536
    assert after.st_mode == before.st_mode
    assert load(packages).returncode == 0
    subprocess.run(["readelf", "--all", "--wide", library], check=True, capture_output=True)


def test_the_second_time_nothing_is_changed(packages: Path) -> None:
    make_torch_run_on_cpus(packages)
    library = packages / "torch" / "lib" / "libtorch_cuda.so"
    before = library.stat().st_ino, library.read_bytes()
    assert make_torch_run_on_cpus(packages) == []
    assert (library.stat().st_ino, library.read_bytes()) == before


def test_another_link_of_the_file_keeps_it_as_it_was(packages: Path) -> None:
    library, kept = packages / "torch" / "lib" / "libtorch_cuda.so", packages / "wheel-cache"
    kept.hardlink_to(library)
    content = kept.read_bytes()
    make_torch_run_on_cpus(packages)
    assert kept.read_bytes() == content != library.read_bytes()
