"""Lines with which programs fail and that have a known cause, as a table of plain words.

A stranger wrote the lines, so that no expression is matched against them: each entry is searched as text. The
runbook (cluster/domain/repairs/runbook.py) is the administrators' table, with repairs; this one is about the program.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from cluster.domain.jobs.failures.log_text import LONGEST_LINE

LONGEST_NAME = 120
QUOTED = re.compile(r"""['"‘“]([^'"’”]{1,120})['"’”]""")
MODULE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,119}")


@dataclass(frozen=True)
class FailureSymptom:
    """`code` has words and a hint. A line matches if it contains all words of one alternative, in any case."""

    code: str
    alternatives: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class FailureSymptomMatch:
    """`data` is what the sentence speaks of: the name of a module or of a file, if the line has it."""

    code: str
    line: str
    data: dict[str, str] = field(default_factory=dict)


def symptom(code: str, *alternatives: str | tuple[str, ...]) -> FailureSymptom:
    return FailureSymptom(
        code,
        tuple(
            tuple(word.lower() for word in ((one,) if isinstance(one, str) else one)) for one in alternatives
        ),
    )


MODULE_MISSING, FILE_MISSING, NOT_PERMITTED = (
    "failure.module_missing",
    "failure.file_missing",
    "failure.not_permitted",
)
SYMPTOMS: tuple[FailureSymptom, ...] = (
    symptom(
        "failure.gpu_memory_full",
        "CUDA out of memory",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "torch.OutOfMemoryError",
        "torch.cuda.OutOfMemoryError",
        "CUBLAS_STATUS_ALLOC_FAILED",
        ("ResourceExhaustedError", "GPU"),
    ),
    symptom("failure.shared_memory_full", "insufficient shared memory", ("DataLoader worker", "Bus error")),
    symptom(
        "failure.memory_full",
        "MemoryError",
        "Cannot allocate memory",
        "std::bad_alloc",
        "DefaultCPUAllocator: can't allocate memory",
        ("DataLoader worker", "killed by signal: Killed"),
        "Out of memory: Killed process",
        "oom-kill",
    ),
    symptom("failure.disk_full", "No space left on device", "Disk quota exceeded"),
    symptom("failure.disk_read_only", "Read-only file system"),
    symptom(
        "failure.ranks_apart",
        "NCCL error",
        "ncclSystemError",
        "ncclInternalError",
        "ncclRemoteError",
        "ncclUnhandledCudaError",
        "collective operation timeout",
        ("NCCL WARN", "failed"),
        ("Gloo", "Connection closed by peer"),
    ),
    symptom("failure.gpu_assert", "device-side assert triggered"),
    symptom(
        "failure.no_gpu",
        "Found no NVIDIA driver",
        "No CUDA GPUs are available",
        "Torch not compiled with CUDA enabled",
        "no CUDA-capable device is detected",
    ),
    symptom("failure.gpu_too_new", "no kernel image is available for execution on the device"),
    symptom(MODULE_MISSING, "No module named"),
    symptom(
        "failure.library_missing", "error while loading shared libraries", "cannot open shared object file"
    ),
    symptom("failure.name_missing", "ImportError: cannot import name"),
    symptom(
        "failure.arguments", "error: unrecognized arguments", "error: the following arguments are required"
    ),
    symptom("failure.syntax", "SyntaxError:", "IndentationError:", "TabError:"),
    symptom(
        "failure.not_finite",
        "loss is NaN",
        "NaN detected",
        "contains NaN",
        "found NaN",
        "NaN or Inf found",
        "contains infinity",
    ),
    symptom(
        "failure.shapes",
        "shapes cannot be multiplied",
        "size mismatch for",
        "loading state_dict for",
        "must match the size of tensor",
    ),
    symptom("failure.port_taken", "Address already in use", "EADDRINUSE"),
    symptom(
        "failure.no_network",
        "Temporary failure in name resolution",
        "Name or service not known",
        "Network is unreachable",
        "Max retries exceeded with url",
    ),
    symptom(FILE_MISSING, "No such file or directory", "FileNotFoundError"),
    symptom(NOT_PERMITTED, "Permission denied", "PermissionError", "Operation not permitted"),
)
"""The first entry that matches a line counts, so that special entries stand before general ones."""


def match_failure_symptom(lines: Iterable[str]) -> FailureSymptomMatch | None:
    """The symptom of the first line that has one."""
    for line in lines:
        text = line[:LONGEST_LINE].lower()
        for each in SYMPTOMS:
            if any(all(word in text for word in words) for words in each.alternatives):
                return FailureSymptomMatch(each.code, line, symptom_data(each.code, line[:LONGEST_LINE]))
    return None


def symptom_data(code: str, line: str) -> dict[str, str]:
    if code == MODULE_MISSING:
        rest = line[line.lower().index("no module named") + len("no module named") :].lstrip(" '\"")
        name = MODULE_NAME.match(rest)
        return {"module": name.group()} if name else {}
    if code in (FILE_MISSING, NOT_PERMITTED):
        path = quoted_path(line)
        return {"path": path} if path else {}
    return {}


def quoted_path(line: str) -> str:
    """The path in a line of Python (in quotes), of the shim or of a shell (after or before the message)."""
    quoted = QUOTED.search(line)
    if quoted:
        return quoted.group(1)
    if line.startswith("groundcrew: "):
        return line.rpartition(": ")[2].strip()[:LONGEST_NAME]
    return ""
