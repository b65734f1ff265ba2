"""Starts supervisord and asks it for the state of the services."""

import os
import signal
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

import psutil
from supervisor.xmlrpc import SupervisorTransport

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.supervisor import define_services

SUPERVISORD = "worker.embedded.forking_supervisord"
ROOM_FOR_TITLES = " " * 512
"""The bytes for the title of a forked service, which is written over its parent's arguments."""


RESTART_TIMEOUT = 30
"""Seconds from the end of a service to its next beginning, on a machine that is busy."""


@dataclass(frozen=True)
class ServiceStatus:
    """The current state of a service. `state` is supervisord's word: RUNNING, STARTING, BACKOFF, STOPPED …"""

    name: str
    state: str
    pid: int
    started_at: int


class SupervisordUnreachable(OSError):
    """The program that answers at its socket is no working supervisord."""


class SupervisorClient:
    """Speaks with the supervisord of one installation over its unix socket."""

    def __init__(self, places: InstallationPaths) -> None:
        self.places = places

    def call(self, method: str, *arguments: Any) -> Any:
        """Uses a new connection each time, because supervisor's transport does not recover from a failed one.

        That transport is supervisor's own, on http.client. Raises OSError, xmlrpc.client.Error.
        """
        transport = SupervisorTransport(None, None, f"unix://{self.places.supervisor_socket}")
        with closing(transport):
            remote = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
            try:
                return getattr(remote.supervisor, method)(*arguments)
            except HTTPException as error:
                raise SupervisordUnreachable(str(error) or type(error).__name__) from error

    def is_running(self) -> bool:
        try:
            return bool(self.call("getState")["statecode"] == 1)
        except (OSError, xmlrpc.client.Error):
            return False

    def read_pid(self) -> int:
        return int(self.call("getPID"))

    def list_services(self) -> list[ServiceStatus]:
        return [
            ServiceStatus(each["name"], each["statename"], each["pid"], each["start"])
            for each in self.call("getAllProcessInfo")
        ]

    def start_supervisord(self, environment: Mapping[str, str]) -> None:
        """Starts supervisord, which detaches itself from the terminal: it forks and begins a session of its own."""
        program = (sys.executable, "-m", SUPERVISORD, ROOM_FOR_TITLES)
        command = [*program, "-c", str(self.places.supervisor_file)]
        subprocess.run(
            command, cwd=self.places.clone, env=dict(environment), stdin=subprocess.DEVNULL, check=True
        )
        self.wait_for_state(True, 10)

    def start_stopped_services(self) -> list[str]:
        """Returns the names of what had to be started."""
        stopped = [
            each.name for each in self.list_services() if each.state not in {"RUNNING", "STARTING", "BACKOFF"}
        ]
        for name in stopped:
            self.call("startProcess", name, False)
        return stopped

    def restart_service(self, name: str) -> None:
        """Ends the process. supervisord starts the next one, because it restarts whatever ends.

        If the caller is killed, nothing stays stopped. Raises TimeoutError.
        """
        (old,) = (each for each in self.list_services() if each.name == name)
        if old.state not in {"RUNNING", "STARTING"} or not old.pid:
            self.start_service(old)
            return
        patience = next((each.patience for each in define_services(self.places) if each.name == name), 10)
        # The process may have ended by itself at this moment.
        with suppress(xmlrpc.client.Fault):
            self.call("signalProcess", name, "TERM")
        if not self.wait_for_new_process(old, patience):
            # The process hangs, so its whole process group is killed, which has its number.
            with suppress(ProcessLookupError):
                os.killpg(old.pid, signal.SIGKILL)
        if not self.wait_for_new_process(old, RESTART_TIMEOUT):
            raise TimeoutError(f"{name}: not up after {RESTART_TIMEOUT} s")

    def start_service(self, old: ServiceStatus) -> None:
        """Starts a service that does not run. If supervisord is waiting between two tries, it tries at once."""
        if old.state == "BACKOFF":
            self.call("stopProcess", old.name)
        self.call("startProcess", old.name)

    def wait_for_new_process(self, old: ServiceStatus, seconds: float) -> bool:
        """Whether another process than `old` runs within that time."""
        end = time.monotonic() + seconds
        while True:
            found = next(each for each in self.list_services() if each.name == old.name)
            if found.state == "RUNNING" and found.pid != old.pid:
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.1)

    def stop_all(self) -> None:
        """Stop every service, then supervisord; each within its patience.

        They stop all at once, because supervisord by itself would wait for one after the other.
        """
        services = psutil.Process(self.read_pid()).children()
        self.call("shutdown")
        for each in services:
            with suppress(psutil.NoSuchProcess):
                each.terminate()
        self.wait_for_state(False, 60)

    def wait_for_state(self, running: bool, seconds: float) -> None:
        """Raises TimeoutError."""
        end = time.monotonic() + seconds
        while self.is_running() is not running or (not running and self.places.supervisor_socket.exists()):
            if time.monotonic() > end:
                raise TimeoutError(f"supervisord: not {'up' if running else 'down'} after {seconds:.0f} s")
            time.sleep(0.1)
