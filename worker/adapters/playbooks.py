"""Starts a playbook by ansible-runner in a process of its own and reads its events. All Ansible runs start here."""

import fcntl
import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("playbook_process.py")
RUN_VARIABLE = "GROUNDCREW_REPAIR"
EVENT_FILE = re.compile(r"\d+-[0-9a-f-]{36}\.json")
"""The name of an event's complete file. An incomplete one is named after its uuid alone."""
ALIVE, ALIVE_DESCRIPTOR = "alive", "GROUNDCREW_REPAIR_ALIVE"
"""The file in a run's folder whose lock its process inherits and holds. On servers the process belongs to another
user, and while a process executes another program /proc shows nothing of it.
"""
SSH = "-o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o UserKnownHostsFile={keys}/known_hosts"
PASSED_VARIABLES = ("HOME", "LANG", "TZ")


@dataclass(frozen=True)
class PlaybookRequest:
    """One run. Its `folder` is new, and its `variables` contain only paths and ids, no text of a person."""

    folder: Path
    playbook: Path
    hosts: Sequence[str]
    variables: Mapping[str, str]
    python: Path
    """The Python of the Ansible environment."""
    locks: Sequence[Path]
    """The locks that the run must hold all at once before it begins."""
    timeout: int
    is_check: bool = False
    config: Path = CLONE / "ansible" / "repairs.cfg"
    keys: Path | None = None
    """The folder with the key of the hosts, their pinned keys and the inventory. None: the
    run works on this machine.
    """


@dataclass(frozen=True)
class PlaybookEnd:
    """The end of a run. `rc` is None if no playbook ran."""

    rc: int | None
    status: str
    """`successful`, `failed`, `canceled`, `timeout`, `locked`, or `vanished` if the run's process was killed."""


def start_playbook_process(play: PlaybookRequest) -> None:
    """Starts the process. Does nothing if it has been started, which the folder shows."""
    play.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        (play.folder / "started").touch(exist_ok=False)
    except FileExistsError:
        return
    write_request(play)
    start_detached(play)


def write_request(play: PlaybookRequest) -> None:
    """Writes the request that the run's process reads."""
    write_inventory(play)
    for lock in play.locks:
        lock.parent.mkdir(parents=True, exist_ok=True)
    request = {
        "playbook": str(play.playbook),
        "timeout": play.timeout,
        "check": play.is_check,
        "locks": [str(lock) for lock in play.locks],
        "environment": playbook_environment(play),
    }
    (play.folder / "request.json").write_text(json.dumps(request))


def start_detached(play: PlaybookRequest) -> None:
    with (play.folder / "process.log").open("wb") as log, (play.folder / ALIVE).open("wb") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        # The shell's `&` forks twice: nobody here has to wait for the process, and it outlives this one. It is
        # isolated (-I) because Ansible must never import the portal's versions of packages.
        subprocess.run(
            ["/bin/sh", "-c", 'setsid "$@" &', "sh", str(play.python), "-I", "-B", str(PROGRAM), str(play.folder)],
            env=playbook_environment(play) | {ALIVE_DESCRIPTOR: str(alive.fileno())},
            pass_fds=(alive.fileno(),),
            cwd=CLONE, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True,
        )  # fmt: skip


def write_inventory(play: PlaybookRequest) -> None:
    """Writes the inventory as JSON, which is YAML. The tag keeps values from being read as templates."""
    folder = play.folder / "inventory"
    folder.mkdir()
    local = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
    values = {**(local if play.keys is None else {}), **play.variables}
    lines = [f"    {name}: !unsafe {json.dumps(value)}" for name, value in sorted(values.items())]
    targets = [f"        {json.dumps(host)}:" for host in play.hosts]
    head = ["all:", "  children:", "    targets:", "      hosts:", *targets, "  vars:"]
    (folder / "hosts.yml").write_text("\n".join([*head, *lines]) + "\n")


def playbook_environment(play: PlaybookRequest) -> dict[str, str]:
    """The environment of the run, which contains neither the task worker's settings nor its secrets."""
    passed = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    return (
        passed
        | key_environment(play.keys)
        | {
            "PATH": f"{play.python.parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_CONFIG": str(play.config),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCAL_TEMP": str(play.folder / "tmp"),
            RUN_VARIABLE: str(play.folder),
        }
    )


def key_environment(keys: Path | None) -> dict[str, str]:
    if keys is None:
        return {}
    return {
        "CREDENTIALS_DIRECTORY": str(keys),
        "ANSIBLE_PRIVATE_KEY_FILE": f"{keys}/key",
        "ANSIBLE_SSH_COMMON_ARGS": SSH.format(keys=keys),
    }


class EventReader:
    """Reads each event of one run once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "artifacts" / "run" / "job_events"
        self.read_names: set[str] = set()

    def read_new_events(self) -> list[dict[str, Any]]:
        """The events since the last call, in their order. One that cannot be read yet comes with the next call."""
        found = []
        files = (path for path in self.folder.glob("*.json") if path.name not in self.read_names)
        for path in sorted((path for path in files if EVENT_FILE.fullmatch(path.name)), key=event_number):
            with suppress(ValueError, FileNotFoundError):
                found.append(json.loads(path.read_text()))
                self.read_names.add(path.name)
        return found


def event_number(path: Path) -> int:
    return int(path.name.partition("-")[0])


def log_file(folder: Path) -> Path:
    return folder / "artifacts" / "run" / "stdout"


def has_playbook_started(folder: Path) -> bool:
    return (folder / "started").exists()


def read_playbook_end(folder: Path) -> PlaybookEnd | None:
    """Returns None while the run is in progress. If its process was killed, its leftovers are ended first."""
    said = folder / "exit.json"
    if not said.exists():
        if is_locked(folder / ALIVE):
            return None
        kill_run_processes(folder)
        if not said.exists():
            return PlaybookEnd(None, "vanished")
    end = json.loads(said.read_text())
    return PlaybookEnd(end["rc"], end["status"]) if end["end"] == "ran" else PlaybookEnd(None, "locked")


def is_locked(path: Path) -> bool:
    """Whether a running process holds this file's lock. Every user who may read the file can find out."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def list_run_processes(folder: Path) -> list[int]:
    """The pids of this run's running processes, found by a mark in their environment."""
    wanted = f"{RUN_VARIABLE}={folder}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def kill_run_processes(folder: Path) -> None:
    for pid in list_run_processes(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def request_cancel(folder: Path) -> None:
    """Requests the cancellation that ansible-runner checks several times a second, also while a task runs."""
    (folder / "cancel").touch()
