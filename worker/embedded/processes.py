"""List and end the processes of one installation, including orphans of a killed supervisord."""

import os
from collections.abc import Iterable
from pathlib import Path

import psutil

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.supervisor_client import SUPERVISORD

MODULES = {"gunicorn", "portal.live", "worker", SUPERVISORD}
INTERACTIVE_COMMANDS = {"up", "down", "status", "reset", "restore", "support", "console"}


def list_installation_processes(places: InstallationPaths) -> list[psutil.Process]:
    """Lists the services and their children. Jobs are not among them, because a shim is no child of a service."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and is_installation_process(process, places):
                for each in (process, *process.children(recursive=True)):
                    found[each.pid] = each
        except (psutil.Error, OSError):
            continue
    return list(found.values())


def is_installation_process(process: psutil.Process, places: InstallationPaths) -> bool:
    # A forked shim's command line is padded with thousands of empty words.
    command = [word for word in process.cmdline() if word]
    files_of_others = (str(places.state_dir / "run" / "redis"), str(places.nginx_dir / "nginx.conf"))
    if any(file in word for word in command for file in files_of_others):
        return shares_root_filesystem(process)
    if len(command) < 3 or command[1] != "-m" or command[2] not in MODULES:
        return False
    if command[2] == "worker" and command[3:4] and command[3] in INTERACTIVE_COMMANDS:
        return False
    return process.environ().get("GROUNDCREW_STATE_DIR") == str(places.state_dir) and shares_root_filesystem(
        process
    )


def shares_root_filesystem(process: psutil.Process) -> bool:
    """Whether the process sees this machine's files. A process in a container does not, although its paths may be
    equal.
    """
    return Path(f"/proc/{process.pid}/root").samefile("/")


def end_processes(processes: Iterable[psutil.Process], patience: float) -> None:
    """Asks the processes to end, and kills them after `patience` seconds."""
    asked = []
    for process in processes:
        try:
            process.terminate()
            asked.append(process)
        except psutil.NoSuchProcess:
            continue
    _, left = psutil.wait_procs(asked, timeout=patience)
    for process in left:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(left, timeout=5)
