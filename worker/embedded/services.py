"""The processes of the embedded set, as supervisord runs them: its configuration and a client for it."""

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

from worker.embedded.places import Places

PASS_SOCKET = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@" 3<&0 </dev/null'
"""supervisord gives a listening socket as standard input; gunicorn takes it as it does from systemd."""
SOCKET_BACKLOG = 2048
LOG_BYTES = 10 * 1024 * 1024
LOG_FILES = 5
PORTAL = ("--config", "python:portal.gunicorn", "portal.wsgi:app")
REDIS_PROGRAMS = ("redis-server", "valkey-server")
GENTLY = ("nice", "-n", "10")
"""Backups, their proofs and the unpacking of uploads work hard for minutes: whoever waits for a page goes first."""
KEPT = (
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
COMES_BACK_WITHIN = 30
"""Seconds from the end of a service to its next beginning, on a machine that is busy."""
KEPT_BEGINNINGS = ("LC_", "UV_", "PIP_", "GROUNDCREW_")
KEPT_ENDS = ("_proxy", "_PROXY")


@dataclass(frozen=True)
class Service:
    """One program of the set; `patience` is how many seconds it has to stop before it is killed.

    `socket` is one that supervisord listens on for it: while the program starts anew, requests wait.
    """

    name: str
    command: tuple[str, ...]
    priority: int
    patience: int
    socket: Path | None = None


@dataclass(frozen=True)
class Process:
    """How a service stands now; `state` is supervisord's word: RUNNING, STARTING, BACKOFF, STOPPED …"""

    name: str
    state: str
    pid: int
    since: int


def services(places: Places) -> list[Service]:
    """What runs on the one machine, in the order of starting."""
    python = (sys.executable, "-m")
    worker = (*python, "worker")
    return [
        Service("redis", (redis_program(), str(places.state / "run" / "redis.conf")), 10, 10),
        Service(
            "portal",
            ("/bin/sh", "-c", PASS_SOCKET, *python, "gunicorn", *PORTAL),
            20,
            8,
            socket=places.portal_socket,
        ),
        Service("nginx", ("/bin/sh", str(places.nginx / "start")), 25, 5),
        Service("scheduler", (*worker, "scheduler"), 30, 10),
        Service("tasks-general", (*GENTLY, *worker, "tasks", "general"), 40, 4),
        Service("tasks-images", (*worker, "tasks", "images"), 40, 4),
        Service("tasks-backups", (*GENTLY, *worker, "tasks", "backups"), 40, 4),
        Service("tasks-repair", (*worker, "tasks", "repair"), 40, 4),
        Service("agent", (*worker, "agent"), 50, 4),
    ]


def redis_program() -> str:
    found = [program for program in map(shutil.which, REDIS_PROGRAMS) if program]
    return found[0] if found else REDIS_PROGRAMS[0]


def redis_configuration(places: Places) -> str:
    """A unix socket and no port; every write reaches the disk within a second; never forgets for room."""
    lines = {
        "port": "0",
        "unixsocket": str(places.redis_socket),
        "unixsocketperm": "700",
        "dir": str(places.state / "redis"),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "logfile": '""',
    }
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def supervisor_configuration(places: Places) -> str:
    """supervisord's own file; the services inherit their settings from its environment."""
    parts = [
        "[supervisord]",
        f"directory={places.clone}",
        f"pidfile={places.state}/run/supervisord.pid",
        f"logfile={places.log}/supervisord.log",
        "logfile_maxbytes=5MB",
        "logfile_backups=2",
        f"childlogdir={places.log}",
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
        "supervisor.rpcinterface_factory=worker.embedded.open_sockets:keep_sockets",
    ]
    for service in services(places):
        parts += [
            "",
            *heading(service),
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
            f"stdout_logfile={places.log}/{service.name}.log",
            f"stdout_logfile_maxbytes={LOG_BYTES}",
            f"stdout_logfile_backups={LOG_FILES}",
        ]
    return "\n".join(parts).replace("%", "%%") + "\n"


def heading(service: Service) -> list[str]:
    """The folder of a socket says who may connect."""
    if service.socket is None:
        return [f"[program:{service.name}]"]
    return [
        f"[fcgi-program:{service.name}]",
        f"socket=unix://{service.socket}",
        "socket_mode=0666",
        f"socket_backlog={SOCKET_BACKLOG}",
    ]


def service_environment(settings: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """What the services see of the terminal that started them: no keys and no agents of a person."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or name.startswith(KEPT_BEGINNINGS) or name.endswith(KEPT_ENDS)
    }
    return {**kept, **more, **settings, "PYTHONUNBUFFERED": "1"}


class Supervisor:
    """Speaks with the supervisord of one installation over its unix socket."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def ask(self, method: str, *arguments: Any) -> Any:
        """A connection of its own each time: supervisor's transport does not recover from a failed one."""
        transport = SupervisorTransport(None, None, f"unix://{self.places.supervisor_socket}")
        with closing(transport):
            remote = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
            return getattr(remote.supervisor, method)(*arguments)

    def is_running(self) -> bool:
        try:
            return bool(self.ask("getState")["statecode"] == 1)
        except (OSError, HTTPException, xmlrpc.client.Error):
            return False

    def pid(self) -> int:
        return int(self.ask("getPID"))

    def processes(self) -> list[Process]:
        return [
            Process(each["name"], each["statename"], each["pid"], each["start"])
            for each in self.ask("getAllProcessInfo")
        ]

    def start(self, environment: Mapping[str, str]) -> None:
        """Detached from the terminal by supervisord itself, which forks and begins a session of its own."""
        command = [sys.executable, "-m", "supervisor.supervisord", "-c", str(self.places.supervisor_file)]
        subprocess.run(command, env=dict(environment), stdin=subprocess.DEVNULL, check=True)
        self.wait_until(True, 10)

    def start_what_is_not_running(self) -> list[str]:
        """Returns the names of what had to be started."""
        stopped = [
            each.name for each in self.processes() if each.state not in {"RUNNING", "STARTING", "BACKOFF"}
        ]
        for name in stopped:
            self.ask("startProcess", name, False)
        return stopped

    def restart(self, name: str) -> None:
        """Ends its process, and supervisord, which restarts whatever ends, begins the next.

        Whoever asks for it may be killed at any moment: nothing is left stopped. Raises TimeoutError.
        """
        (old,) = (each for each in self.processes() if each.name == name)
        if old.state not in {"RUNNING", "STARTING"} or not old.pid:
            self.begin_again(old)
            return
        patience = next((each.patience for each in services(self.places) if each.name == name), 10)
        # It may have ended by itself this very moment.
        with suppress(xmlrpc.client.Fault):
            self.ask("signalProcess", name, "TERM")
        if not self.is_another(old, patience):
            # It hangs: so it ends with its whole group, which has its number.
            with suppress(ProcessLookupError):
                os.killpg(old.pid, signal.SIGKILL)
        if not self.is_another(old, COMES_BACK_WITHIN):
            raise TimeoutError(f"{name}: not up after {COMES_BACK_WITHIN} s")

    def begin_again(self, old: Process) -> None:
        """It does not run; where supervisord waits longer and longer between its tries, it tries at once."""
        if old.state == "BACKOFF":
            self.ask("stopProcess", old.name)
        self.ask("startProcess", old.name)

    def is_another(self, old: Process, seconds: float) -> bool:
        """Whether another process than that one runs, within so long."""
        end = time.monotonic() + seconds
        while True:
            found = next(each for each in self.processes() if each.name == old.name)
            if found.state == "RUNNING" and found.pid != old.pid:
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop every service, then supervisord; each within its patience.

        All at once: left to itself, supervisord waits for one after the other.
        """
        services = psutil.Process(self.pid()).children()
        self.ask("shutdown")
        for each in services:
            with suppress(psutil.NoSuchProcess):
                each.terminate()
        self.wait_until(False, 60)

    def wait_until(self, running: bool, seconds: float) -> None:
        """Raises TimeoutError."""
        end = time.monotonic() + seconds
        while self.is_running() is not running or (not running and self.places.supervisor_socket.exists()):
            if time.monotonic() > end:
                raise TimeoutError(f"supervisord: not {'up' if running else 'down'} after {seconds:.0f} s")
            time.sleep(0.1)
