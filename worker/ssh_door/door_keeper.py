"""The process of the SSH door: opens it if the machine allows, keeps sshd running, and writes down its state.

python -m worker ssh-door
"""

import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.files.safe_files import UnsafeFile
from cluster.gc_freeze import freeze_startup_objects
from cluster.services.context import Cluster
from cluster.services.ssh import door_state
from cluster.services.ssh.door_state import SshDoorState
from cluster.services.ssh.job_access import newest_job_id
from cluster.settings import Settings
from worker.adapters.job_runtime import runtime_folder
from worker.composition import open_cluster
from worker.ssh_door.door import SshDoor
from worker.ssh_door.layout import NAMES_AHEAD, DoorFolder, door_ids, missing_packages

log = structlog.get_logger()
TICK_SECONDS = 5.0
RETRY_SECONDS = 30.0
START_SECONDS = 10.0


class DoorClosed(Exception):
    """The reason why the door cannot be opened here: a code of cluster/words with its data."""

    def __init__(self, code: str, **data: Any) -> None:
        super().__init__(code)
        self.code, self.data = code, data


class DoorKeeper:
    """Opens the door, keeps sshd running and writes down the state of the door."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.folder = DoorFolder(self.settings.ssh_dir or self.settings.state_dir / "ssh")
        self.ids = door_ids(cluster)
        self.stopping = threading.Event()
        self.sshd: subprocess.Popen[bytes] | None = None
        self.names_until = 0
        self.recorded: SshDoorState | None = None

    def run(self) -> None:
        """Runs the door until SIGTERM."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)
        listener = None
        while not self.stopping.is_set():
            pause = TICK_SECONDS
            try:
                if self.sshd is None or self.sshd.poll() is not None:
                    listener = listener or self.prepare()
                    self.start_sshd()
                self.refresh_names()
            except DoorClosed as closed:
                pause = RETRY_SECONDS
                self.record(SshDoorState(False, self.settings.ssh_port, "", closed.code, closed.data))
            except (OSError, subprocess.CalledProcessError, DBAPIError) as error:
                pause = RETRY_SECONDS
                log.warning("the SSH door does not open", error=str(error))
            self.stopping.wait(pause)
        self.end_sshd()
        if listener is not None:
            listener.close()
        self.record(door_state.CLOSED_WITHOUT_PROCESS)

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping.set()

    def prepare(self) -> socket.socket:
        """Raises DoorClosed, OSError, subprocess.CalledProcessError, DBAPIError."""
        check_machine(self.settings)
        try:
            self.folder.write(listen_addresses(self.settings), self.ids)
        except UnsafeFile:
            raise DoorClosed("ssh_door.folder", folder=str(self.folder.path)) from None
        self.names_until = 0
        self.refresh_names()
        runtime = runtime_folder(self.settings.runtime_dir, self.settings.job_ids)
        return SshDoor(self.cluster, self.folder, runtime, self.ids).listen()

    def refresh_names(self) -> None:
        newest = newest_job_id(self.cluster)
        if newest + NAMES_AHEAD // 2 > self.names_until:
            self.folder.write_names(newest, self.ids)
            self.names_until = newest + NAMES_AHEAD

    def start_sshd(self) -> None:
        """Raises DoorClosed."""
        check_port_free(self.settings)
        # The kernel ends sshd if the door is killed, because sshd would keep the port from the next door.
        kept = ["/usr/bin/setpriv", "--pdeathsig", "TERM", "--"]
        own_mounts = ["/usr/bin/unshare", "--mount", "--propagation", "slave", "--"]
        self.sshd = subprocess.Popen(
            [*kept, *own_mounts, "/bin/sh", str(self.folder.path / "start"), str(self.folder.path)],
            stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
            start_new_session=True,
        )
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.sshd.poll() is None:
            if does_answer(self.settings):
                self.record(SshDoorState(True, self.settings.ssh_port, self.folder.read_host_key()))
                return
            self.stopping.wait(0.05)
        self.end_sshd()
        raise DoorClosed("ssh_door.cannot_start")

    def end_sshd(self) -> None:
        if self.sshd is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.sshd.pid, signal.SIGTERM)
        self.sshd.wait()
        self.sshd = None

    def record(self, state: SshDoorState) -> None:
        if state != self.recorded:
            with suppress(DBAPIError):
                door_state.record_door_state(self.cluster, state)
                self.recorded = state


def check_machine(settings: Settings) -> None:
    """Raises DoorClosed if this machine or this installation cannot have a door."""
    if (closed := door_state.reason_against_door(settings)) is not None:
        raise DoorClosed(closed.reason or "", **closed.data)
    if os.geteuid() != 0:
        raise DoorClosed("ssh_door.needs_root")
    if missing := missing_packages():
        raise DoorClosed("ssh_door.packages_missing", packages=missing)


def listen_addresses(settings: Settings) -> list[str]:
    """`ADDRESS:PORT`, with an IPv6 address in brackets."""
    found = socket.getaddrinfo(settings.ssh_address, settings.ssh_port, type=socket.SOCK_STREAM)
    addresses = dict.fromkeys(str(each[4][0]) for each in found)
    return [
        f"[{each}]:{settings.ssh_port}" if ":" in each else f"{each}:{settings.ssh_port}"
        for each in addresses
    ]


def check_port_free(settings: Settings) -> None:
    """Raises DoorClosed if another program listens there."""
    for address in listen_addresses(settings):
        host = address.rpartition(":")[0].strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, settings.ssh_port))
            except OSError:
                raise DoorClosed("ssh_door.port_taken", port=settings.ssh_port) from None


def does_answer(settings: Settings) -> bool:
    address = listen_addresses(settings)[0]
    host = address.rpartition(":")[0].strip("[]")
    try:
        with socket.create_connection((host, settings.ssh_port), 1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def main(arguments: list[str]) -> int:
    settings = Settings.from_environment()
    cluster = open_cluster(settings)
    freeze_startup_objects()
    DoorKeeper(cluster).run()
    return 0
