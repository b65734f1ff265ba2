"""Define the services of the embedded installation, write supervisord's configuration and control it over XML-RPC."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psutil
from supervisor.xmlrpc import SupervisorTransport

from cluster.domain.states import TaskQueue
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.service_commands import WITH_SOCKET

SOCKET_BACKLOG = 2048
LOG_BYTES = 10 * 1024 * 1024
LOG_FILES = 5
SUPERVISORD = "worker.embedded.forking_supervisord"
ROOM_FOR_TITLES = " " * 512
"""The bytes for the title of a forked service, which is written over its parent's arguments."""
PORTAL = ("--config", "python:portal.gunicorn", "portal.wsgi:app")
REDIS_PROGRAMS = ("redis-server", "valkey-server")
INHERITED_VARIABLES = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "PATH",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
RESTART_TIMEOUT = 30
"""Seconds from the end of a service to its next beginning, on a machine that is busy."""
INHERITED_PREFIXES = ("LC_", "UV_", "PIP_", "GROUNDCREW_")
INHERITED_SUFFIXES = ("_proxy", "_PROXY")


@dataclass(frozen=True)
class ServiceDefinition:
    """One program of the set. `patience` is the number of seconds that it has to stop before it is killed.

    supervisord listens on `socket` for it, so that requests wait while the program restarts.
    """

    name: str
    command: tuple[str, ...]
    priority: int
    patience: int
    socket: Path | None = None


@dataclass(frozen=True)
class ServiceStatus:
    """The current state of a service. `state` is supervisord's word: RUNNING, STARTING, BACKOFF, STOPPED …"""

    name: str
    state: str
    pid: int
    started_at: int


def define_services(places: InstallationPaths) -> list[ServiceDefinition]:
    """The services on the one machine, in the order of starting."""
    python = (sys.executable, "-m")
    worker = (*python, "worker")
    return [
        ServiceDefinition(
            "redis", (find_redis_program(), str(places.state_dir / "run" / "redis.conf")), 10, 10
        ),
        ServiceDefinition(
            "portal",
            (*WITH_SOCKET, *python, "gunicorn", *PORTAL),
            20,
            8,
            socket=places.portal_socket,
        ),
        ServiceDefinition(
            "stream",
            (*WITH_SOCKET, *python, "portal.live"),
            20,
            8,
            socket=places.stream_socket,
        ),
        ServiceDefinition("nginx", ("/bin/sh", str(places.nginx_dir / "start")), 25, 5),
        ServiceDefinition("scheduler", (*worker, "scheduler"), 30, 10),
        ServiceDefinition("task-workers", (*worker, "tasks", *TaskQueue), 40, 4),
        ServiceDefinition("agent", (*worker, "agent"), 50, 4),
        # Only root can let people into jobs.
        *([ServiceDefinition("ssh", (*worker, "ssh-door"), 60, 6)] if os.geteuid() == 0 else []),
    ]


def find_redis_program() -> str:
    found = [program for program in map(shutil.which, REDIS_PROGRAMS) if program]
    return found[0] if found else REDIS_PROGRAMS[0]


def render_redis_configuration(places: InstallationPaths) -> str:
    """Renders a Redis with a unix socket and no port, which syncs its writes every second and never evicts a key."""
    lines = {
        "port": "0",
        "unixsocket": str(places.redis_socket),
        "unixsocketperm": "700",
        "dir": str(places.state_dir / "redis"),
        "appendonly": "yes",
        "appendfsync": "everysec",
        # Its own periodic work, ten times a second otherwise: it wakes the machine for nothing.
        "hz": "2",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "logfile": '""',
    }
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def render_supervisor_configuration(places: InstallationPaths) -> str:
    """Renders supervisord's own file. The services inherit their settings from its environment."""
    parts = [
        "[supervisord]",
        f"directory={places.clone}",
        f"pidfile={places.state_dir}/run/supervisord.pid",
        f"logfile={places.log_dir}/supervisord.log",
        "logfile_maxbytes=5MB",
        "logfile_backups=2",
        f"childlogdir={places.log_dir}",
        "umask=022",
        "minfds=1024",
        "",
        "[unix_http_server]",
        f"file={places.supervisor_socket}",
        "chmod=0700",
        "",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
        "",
        "[rpcinterface:sockets]",
        "supervisor.rpcinterface_factory=worker.embedded.supervisor_sockets:make_socket_holder",
    ]
    for service in define_services(places):
        parts += [
            "",
            *render_section_header(service),
            f"command={shlex.join(service.command)}",
            f"priority={service.priority}",
            "autostart=true",
            "autorestart=true",
            "startsecs=1",
            # Never give up: what is missing now (the database's disk, Redis) may come back.
            "startretries=1000000",
            f"stopwaitsecs={service.patience}",
            "killasgroup=true",
            "redirect_stderr=true",
            f"stdout_logfile={places.log_dir}/{service.name}.log",
            f"stdout_logfile_maxbytes={LOG_BYTES}",
            f"stdout_logfile_backups={LOG_FILES}",
        ]
    return "\n".join(parts).replace("%", "%%") + "\n"


def render_section_header(service: ServiceDefinition) -> list[str]:
    """Renders the head of a section. The folder of a socket decides who may connect."""
    if service.socket is None:
        return [f"[program:{service.name}]"]
    return [
        f"[fcgi-program:{service.name}]",
        f"socket=unix://{service.socket}",
        "socket_mode=0666",
        f"socket_backlog={SOCKET_BACKLOG}",
    ]


def service_variables(settings: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """The variables of the starting terminal that services may see: no keys and no agents of a person."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in INHERITED_VARIABLES
        or name.startswith(INHERITED_PREFIXES)
        or name.endswith(INHERITED_SUFFIXES)
    }
    return {**kept, **more, **settings, "PYTHONUNBUFFERED": "1"}


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

        The caller may be killed at any moment: nothing is left stopped. Raises TimeoutError.
        """
        (old,) = (each for each in self.list_services() if each.name == name)
        if old.state not in {"RUNNING", "STARTING"} or not old.pid:
            self.start_service(old)
            return
        patience = next((each.patience for each in define_services(self.places) if each.name == name), 10)
        # It may have ended by itself this very moment.
        with suppress(xmlrpc.client.Fault):
            self.call("signalProcess", name, "TERM")
        if not self.wait_for_new_process(old, patience):
            # It hangs: so it ends with its whole group, which has its number.
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

        All at once: left to itself, supervisord waits for one after the other.
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
