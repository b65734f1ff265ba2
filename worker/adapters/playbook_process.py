"""The process around one playbook outlives the task worker that started it and holds the target's lock.

Runs under the Ansible environment's own Python, which has ansible-runner and nothing of ours but this file:
``python -I playbook_process.py FOLDER``. Reads FOLDER/request.json, writes FOLDER/exit.json last. On servers
`worker/commands/repair_broker.py` becomes it, in a unit of its own with the keys of the hosts.
"""

import ctypes
import fcntl
import json
import os
import signal
import sys
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
LOCKED, RAN = "locked", "ran"
KILL_AFTER_SECONDS = 3.0
"""Seconds that leftovers of the playbook have to end by themselves."""


REPLY, ALIVE = "GROUNDCREW_REPAIR_REPLY", "GROUNDCREW_REPAIR_ALIVE"


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    reply_started()
    request: dict[str, Any] = json.loads((folder / "request.json").read_text())
    with ExitStack() as held:
        try:
            for path in request["locks"]:
                lock = held.enter_context(Path(path).open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            write_json_file(folder / "exit.json", {"end": LOCKED})
            return 1
        become_subreaper()
        end = run_ansible(folder, request)
        end_descendants()
        write_json_file(folder / "exit.json", end)
    return 0


def reply_started() -> None:
    """Answers the client that waits at the socket. The lock that shows that this process is alive is not inherited by
    children.
    """
    alive, reply = os.environ.pop(ALIVE, ""), os.environ.pop(REPLY, "")
    if alive:
        os.set_inheritable(int(alive), False)
    if reply:
        with suppress(OSError):
            os.write(int(reply), b'{"done": true}\n')
        os.close(int(reply))


def inventory_files(folder: Path) -> list[str] | None:
    """The installation's own inventory, then that of this run. None: only the run's folder."""
    keys = os.environ.get("CREDENTIALS_DIRECTORY")
    return [f"{keys}/inventory.yml", str(folder / "inventory" / "hosts.yml")] if keys else None


def run_ansible(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    import ansible_runner

    prepare_artifacts(folder)
    runner = ansible_runner.run(
        private_data_dir=str(folder),
        ident="run",
        playbook=request["playbook"],
        inventory=inventory_files(folder),
        cmdline="--check" if request["check"] else None,
        envvars=request["environment"],
        suppress_env_files=True,
        quiet=True,
        timeout=request["timeout"],
        event_handler=partial(handle_event, folder),
        cancel_callback=(folder / "cancel").exists,
    )
    return {"end": RAN, "rc": runner.rc, "status": runner.status}


def prepare_artifacts(folder: Path) -> None:
    """Creates the folders that ansible-runner would create for its own user alone. On servers another user reads
    them.
    """
    artifacts = folder / "artifacts" / "run"
    (artifacts / "job_events").mkdir(parents=True)
    (artifacts / "stdout").touch()


def handle_event(folder: Path, event: dict[str, Any]) -> bool:
    """Writes the event's file as ansible-runner would. False: ansible-runner has nothing more to do."""
    name = f"{event['counter']}-{event['uuid']}"
    write_json_file(folder / "artifacts" / "run" / "job_events" / f"{name}.json", event, is_last=False)
    return False


def become_subreaper() -> None:
    """Makes this process the parent of orphans, so that what the playbook leaves behind is not adopted by init."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def end_descendants() -> None:
    """Sends SIGTERM, then SIGKILL. The lock is held while any process of the run is alive."""
    for pid in child_pids(os.getpid()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + KILL_AFTER_SECONDS
    while reap_children():
        if time.monotonic() > deadline:
            for pid in child_pids(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def child_pids(pid: int) -> list[int]:
    with suppress(FileNotFoundError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def reap_children() -> bool:
    """Returns whether there are children that have not ended."""
    with suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
    return False


def write_json_file(path: Path, value: dict[str, Any], is_last: bool = True) -> None:
    """Writes a file. With `is_last` it is synced, so that it survives a crash of the machine."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w") as file:
        json.dump(value, file)
        file.flush()
        if is_last:
            os.fsync(file.fileno())
    unfinished.rename(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
