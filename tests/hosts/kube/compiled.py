"""Plays the short half of the suite where this machine has its programs: ``python -m tests.hosts.kube.compiled``.

Compiling Kubernetes takes longer than all else that is tested: a machine that has not done it says so and passes.
"""

from tests.kubernetes import compiled_programs
from tests.run import main as run
from worker.bundle.go_programs import PROGRAMS

NOT_BUILT = f"kube suite not run: {compiled_programs.NOT_BUILT}"


def is_compiled() -> bool:
    """Whether this machine has every program that a bundle is built with."""
    try:
        return len(compiled_programs.find_programs(*(program.name for program in PROGRAMS))) == len(PROGRAMS)
    except compiled_programs.NotCompiled:
        return False


def main() -> int:
    if not is_compiled():
        print(NOT_BUILT)
        return 0
    return run(["hosts/kube"])


if __name__ == "__main__":
    raise SystemExit(main())
