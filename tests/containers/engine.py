"""The container engine that tests use: the one behind the default socket, started where none answers.

Tests speak to ``/var/run/docker.sock``. A machine may have a ``docker`` command without any engine behind it
(such as a client in /usr/local/bin in front of the distribution's): what answers on the socket counts, not
what PATH finds. An engine that was started here is left running for the tests that follow.
"""

import fcntl
import http.client
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.machine.system_packages import packages_for
from worker.bootstrap.system_packages import ensure_packages

SOCKET = Path("/var/run/docker.sock")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
CACHE = Path("/var/cache/groundcrew")
PID_FILE = Path("/run/groundcrew-test-dockerd.pid")
LOG = CACHE / "log" / "dockerd.log"
LOCK = Path("/run/lock/groundcrew-test-dockerd.lock")
STARTS_WITHIN = 60
"""Seconds."""


class Connection(http.client.HTTPConnection):
    """HTTP over the engine's unix socket."""

    def __init__(self, path: Path = SOCKET) -> None:
        super().__init__("engine")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(5)
        self.sock.connect(str(self.path))


def answers(path: Path = SOCKET) -> bool:
    """Whether an engine is behind the socket."""
    connection = Connection(path)
    try:
        connection.request("GET", "/_ping")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def ensure_engine() -> Path:
    """The socket of an engine that answers; installs docker.io by apt and starts dockerd where needed.

    Safe to call at once from several processes. Raises RuntimeError with the end of the engine's log.
    """
    if answers():
        return SOCKET
    if os.geteuid() != 0:
        raise RuntimeError("no container engine answers on /var/run/docker.sock, and only root can start one")
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not answers():
            ensure_packages(packages_for("container_engine"), CACHE / "log" / "install.log")
            start()
    return SOCKET


def start() -> None:
    """In a session of its own and nobody's child, so that it outlives the tests and no process has to wait for it.

    Its pid file is not the distribution's.
    """
    LOG.parent.mkdir(parents=True, exist_ok=True)
    PID_FILE.unlink(missing_ok=True)
    engine = ["dockerd", "--pidfile", str(PID_FILE), "--host", f"unix://{SOCKET}", "--mtu", str(read_mtu())]
    with LOG.open("ab") as log:
        subprocess.run(
            ["setsid", "--fork", *engine],
            env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )
    deadline = time.monotonic() + STARTS_WITHIN
    while not answers():
        if time.monotonic() > deadline:
            words = "\n".join(LOG.read_text(errors="replace").splitlines()[-12:])
            raise RuntimeError(f"dockerd does not answer on {SOCKET}; the end of {LOG}:\n{words}")
        time.sleep(0.1)


def read_mtu() -> int:
    """Of the interface with the default route: packets of containers must fit through it, too. 1500 without one."""
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        name, destination = line.split()[:2]
        if destination == "00000000":
            return int(Path(f"/sys/class/net/{name}/mtu").read_text())
    return 1500


def command_line() -> str:
    """The docker command that fits the engine: the distribution's where it is there. Raises FileNotFoundError."""
    found = shutil.which("docker", path=PATH) or shutil.which("docker")
    if found is None:
        raise FileNotFoundError("docker")
    return found
