"""kwok, compiled like the programs of the bundle and kept beside them; it is in no bundle.

python -m tests.kwok.program    compiles it, where this machine has not done it
"""

import sys
from pathlib import Path

from tests.kubernetes.compiled_programs import NotCompiled, open_shelf
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.go_programs import GoProgram, ensure_program
from worker.bundle.sources import GoModule

PINNED = str(Path(__file__).parent / "go")
"""The folder of its go.mod and go.sum."""
MODULE = GoModule("sigs.k8s.io/kwok", "v0.7.0")
KWOK = GoProgram("kwok", PINNED, "sigs.k8s.io/kwok/cmd/kwok")


def find_kwok() -> Path:
    """Raises NotCompiled."""
    try:
        return ensure_program(KWOK, {PINNED: MODULE}, open_shelf()).path
    except (CollectingFailed, OSError) as missing:
        raise NotCompiled(str(missing)) from missing


def compile_kwok() -> Path:
    """Three minutes on two cores. Raises CollectingFailed."""
    shelf = open_shelf()
    return ensure_program(KWOK, {PINNED: MODULE}, BuildCache(shelf.cache, shelf.log)).path


if __name__ == "__main__":
    print(compile_kwok())
    sys.exit(0)
