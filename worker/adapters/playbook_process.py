"""The process around one playbook: it outlives the task worker that began it, and it alone holds the target's lock.

Runs under the Ansible environment's own Python, which has ansible-runner and nothing of ours but this file:
``python -I playbook_process.py FOLDER``. Reads FOLDER/request.json, writes FOLDER/exit.json last. On servers systemd
starts it as a unit of its own for each connection to a socket, with the keys of the hosts: ``--socket FOLDERS``.
"""

import ctypes
import fcntl
import json
import os
import signal
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

PR_SET_CHILD_SUBREAPER = 36
LOCKED, RAN = "locked", "ran"
PATIENCE = 3.0
"""Seconds that what is left of the playbook has to end by itself."""


REPLY = "GROUNDCREW_REPAIR_REPLY"
SSH = "-o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o UserKnownHostsFile={keys}/known_hosts"


def main(arguments: list[str]) -> int:
    if arguments[0] == "--socket":
        become_run(Path(arguments[1]))
    folder = Path(arguments[0])
    say_begun()
    request: dict[str, Any] = json.loads((folder / "request.json").read_text())
    with ExitStack() as held:
        try:
            for path in request["locks"]:
                lock = held.enter_context(Path(path).open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            write_whole(folder / "exit.json", {"end": LOCKED})
            return 1
        become_subreaper()
        end = run(folder, request)
        end_descendants()
        write_whole(folder / "exit.json", end)
    return 0


def become_run(folders: Path) -> NoReturn:
    """One connection is one run: its number comes by the socket, and this process becomes that run's."""
    number = sys.stdin.readline(20).strip()
    if not (number.isascii() and number.isdigit()):
        sys.exit("no number of a run")
    folder = folders / number
    environment: dict[str, str] = json.loads((folder / "request.json").read_text())["environment"]
    (folder / "pid").write_text(str(os.getpid()))
    reply = os.dup(0)
    os.set_inheritable(reply, True)
    log = os.open(folder / "process.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number_of_file, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(source, number_of_file)
    command = [sys.executable, "-I", "-B", __file__, str(folder)]
    os.execve(command[0], command, environment | environment_of_keys() | {REPLY: str(reply)})


def environment_of_keys() -> dict[str, str]:
    """The key and the pinned hosts are this unit's alone: the task worker has neither."""
    keys = os.environ["CREDENTIALS_DIRECTORY"]
    return {
        "CREDENTIALS_DIRECTORY": keys,
        "ANSIBLE_PRIVATE_KEY_FILE": f"{keys}/key",
        "ANSIBLE_SSH_COMMON_ARGS": SSH.format(keys=keys),
    }


def say_begun() -> None:
    """To whoever waits at the socket: from now on this process is found by its mark."""
    reply = os.environ.pop(REPLY, "")
    if reply:
        os.write(int(reply), b"begun\n")
        os.close(int(reply))


def inventories(folder: Path) -> list[str] | None:
    """The installation's own hosts first, then those of this run; None: the run's folder alone."""
    keys = os.environ.get("CREDENTIALS_DIRECTORY")
    return [f"{keys}/inventory.yml", str(folder / "inventory" / "hosts.yml")] if keys else None


def run(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    import ansible_runner

    runner = ansible_runner.run(
        private_data_dir=str(folder),
        ident="run",
        playbook=request["playbook"],
        inventory=inventories(folder),
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
