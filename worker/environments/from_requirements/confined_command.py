"""Run one command of a build without rights: ``python -m …confined_command SPECIFICATION COMMAND…``.

Packages bring build scripts and modules that strangers wrote. As root the command gets the sandbox of jobs (a read-only
system, a /tmp of its own, no folders of the installation) and a number of its own before it begins.
"""

import contextlib
import ctypes
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from worker.inside import shim_sandbox

PR_SET_NO_NEW_PRIVS = 38
OOM_SCORE = "1000"
"""If memory runs out, the kernel ends the build first."""


def main(arguments: list[str]) -> None:
    wanted: dict[str, Any] = json.loads(arguments[0])
    os.environ.pop("PYTHONPATH", None)
    prefer_for_oom()
    if wanted["uid"] is not None:
        enter_sandbox(wanted)
        os.setgroups([])
        os.setresgid(wanted["gid"], wanted["gid"], wanted["gid"])
        os.setresuid(wanted["uid"], wanted["uid"], wanted["uid"])
    check_zero(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    for name, most in wanted["limits"].items():
        set_limit(getattr(resource, f"RLIMIT_{name}"), most)
    os.chdir(wanted["folder"])
    os.execvpe(arguments[1], arguments[1:], os.environ)


def enter_sandbox(wanted: dict[str, Any]) -> None:
    """Writes the restrictions that the machine refuses to stdout. The command runs without them, as jobs do."""
    sandbox = {"hidden": wanted["hidden"], "shown": wanted["shown"], "memory_bytes": wanted["tmp_bytes"]}
    missing = shim_sandbox.enter_sandbox(sandbox, wanted["folder"])
    for feature, why in sorted(missing.items()):
        os.write(1, f"not confined, {feature}: {why}\n".encode("utf-8", "replace"))


def set_limit(number: int, most: int) -> None:
    """Sets a limit, at most to our own, because even root may be unable to raise that."""
    hard = resource.getrlimit(number)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(number, (most, most))


def prefer_for_oom() -> None:
    # Some containers forbid it. The build can run without it.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)


def check_zero(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(sys.argv[1:])
