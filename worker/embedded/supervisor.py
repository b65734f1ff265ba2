"""Define the services of the embedded installation, write supervisord's configuration and control it over XML-RPC."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.states import TaskQueue
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.service_commands import WITH_SOCKET

SOCKET_BACKLOG = 2048
LOG_BYTES = 10 * 1024 * 1024
LOG_FILES = 5
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
INHERITED_PREFIXES = ("LC_", "UV_", "PIP_", "GROUNDCREW_")
INHERITED_SUFFIXES = ("_proxy", "_PROXY")


@dataclass(frozen=True)
class ServiceDefinition:
    """One service of the installation. `patience` is the number of seconds that it has to stop before it is killed.

    supervisord listens on `socket` for it, so that requests wait while the program restarts.
    """

    name: str
    command: tuple[str, ...]
    priority: int
    patience: int
    socket: Path | None = None


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
        # Redis' own periodic work would otherwise run ten times a second and wake the machine for nothing.
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
            # supervisord never gives up, because a missing part (the database's disk, Redis) may come back.
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
