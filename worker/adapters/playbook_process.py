"""The process around one playbook: it outlives the task worker that began it, and it alone holds the target's lock.

Runs under the Ansible environment's own Python, which has ansible-runner and nothing of ours but this file:
``python -m worker.adapters.playbook_process FOLDER``. Reads FOLDER/request.json, writes FOLDER/exit.json last.
"""

import ctypes
import fcntl
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
LOCKED, RAN = "locked", "ran"
PATIENCE = 3.0
"""Seconds that what is left of the playbook has to end by itself."""


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    request: dict[str, Any] = json.loads((folder / "request.json").read_text())
    with Path(request["lock"]).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            write_whole(folder / "exit.json", {"end": LOCKED})
            return 1
        become_subreaper()
        end = run(folder, request)
        end_descendants()
        write_whole(folder / "exit.json", end)
    return 0


def run(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    import ansible_runner

    runner = ansible_runner.run(
        private_data_dir=str(folder),
        ident="run",
        playbook=request["playbook"],
        cmdline="--check" if request["check"] else None,
        envvars=request["environment"],
        suppress_env_files=True,
        quiet=True,
        timeout=request["timeout"],
        cancel_callback=(folder / "cancel").exists,
    )
    return {"end": RAN, "rc": runner.rc, "status": runner.status}


def become_subreaper() -> None:
    """What the playbook leaves behind becomes our child, not the machine's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def end_descendants() -> None:
    """Asks first, then ends: the lock is not given back while anything of the run is alive."""
    for pid in children(os.getpid()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while reap():
        if time.monotonic() > deadline:
            for pid in children(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    with suppress(FileNotFoundError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def reap() -> bool:
    """True while there is a child that has not ended."""
    with suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
    return False


def write_whole(path: Path, value: dict[str, Any]) -> None:
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
