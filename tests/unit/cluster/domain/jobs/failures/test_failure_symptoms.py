"""Known lines have a cause; lines of strangers are searched as text, in bounded time."""

import pytest

from cluster.domain.jobs.failures.failure_symptoms import SYMPTOMS, match_failure_symptom

LINES = {
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.": ("gpu_memory_full", {}),
    "RuntimeError: CUDA error: device-side assert triggered": ("gpu_assert", {}),
    "MemoryError": ("memory_full", {}),
    "RuntimeError: DataLoader worker (pid 41) is killed by signal: Killed.": ("memory_full", {}),
    "RuntimeError: DataLoader worker (pid 41) is killed by signal: Bus error.": ("shared_memory_full", {}),
    "OSError: [Errno 28] No space left on device: '/x'": ("disk_full", {}),
    "OSError: [Errno 30] Read-only file system: '/x'": ("disk_read_only", {}),
    "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1970": ("ranks_apart", {}),
    "gpu01:41:41 [0] NCCL WARN Call to connect failed": ("ranks_apart", {}),
    "ModuleNotFoundError: No module named 'timm.models'": ("module_missing", {"module": "timm.models"}),
    "/usr/bin/python3: No module named horovod": ("module_missing", {"module": "horovod"}),
    "no module named '../x'": ("module_missing", {}),
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/x y'": (
        "file_missing",
        {"path": "/data/x y"},
    ),
    "groundcrew: No such file or directory: nonexist.py": ("file_missing", {"path": "nonexist.py"}),
    "bash: line 1: foo: No such file or directory": ("file_missing", {}),
    "PermissionError: [Errno 13] Permission denied: '/root'": ("not_permitted", {"path": "/root"}),
    "train.py: error: unrecognized arguments: --lr": ("arguments", {}),
    '  File "train.py", line 3\nSyntaxError: invalid syntax': ("syntax", {}),
    "ValueError: Input X contains NaN.": ("not_finite", {}),
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x2 and 3x4)": ("shapes", {}),
    "OSError: [Errno 98] Address already in use": ("port_taken", {}),
    "socket.gaierror: [Errno -3] Temporary failure in name resolution": ("no_network", {}),
    "RuntimeError: Found no NVIDIA driver on your system.": ("no_gpu", {}),
    "CUDA error: no kernel image is available for execution on the device": ("gpu_too_new", {}),
    "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory": (
        "library_missing",
        {},
    ),
    "ImportError: cannot import name 'x' from 'y'": ("name_missing", {}),
}


@pytest.mark.parametrize(("line", "expected"), LINES.items())
def test_a_known_line_has_its_cause(line: str, expected: tuple[str, dict[str, str]]) -> None:
    match = match_failure_symptom([line])
    assert match is not None
    assert (match.code, match.data) == (f"failure.{expected[0]}", expected[1])


def test_every_entry_is_tried_by_a_line() -> None:
    tried = {f"failure.{expected[0]}" for expected in LINES.values()}
    assert tried == {symptom.code for symptom in SYMPTOMS}


@pytest.mark.parametrize("line", ["", "epoch 3 loss nan", "ValueError: shapes", "x" * 3000 + "MemoryError"])
def test_other_lines_have_none(line: str) -> None:
    assert match_failure_symptom([line]) is None


def test_the_first_line_with_a_cause_counts() -> None:
    match = match_failure_symptom(["fine", "MemoryError", "Permission denied"])
    assert match is not None
    assert match.line == "MemoryError"
