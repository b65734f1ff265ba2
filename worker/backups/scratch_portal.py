"""Runs a portal on a scratch database, in a process of its own and on a socket that nobody else reaches."""

import os
import pwd
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from cluster.settings import Settings
from cluster.store.sql.roles import services_url
from worker.backups.errors import BackupBroken

STARTS_WITHIN = 60.0


STOPS_WITHIN = 10.0
LAST_WORDS = 300
PORTAL = (
    *("gunicorn", "--config", "python:portal.gunicorn"),
    *("--workers", "1", "--threads", "2", "portal.wsgi:app"),
)
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "TERM")
"""The kernel ends the portal if the drill is killed."""


@contextmanager
def run_scratch_portal(settings: Settings, url: str, folder: Path) -> Iterator[httpx.Client]:
    """Runs a portal on a socket of its own, without the other services and without our secrets."""
    socket, log = folder / "portal.sock", folder / "log"
    command = [*DIE_WITH_PARENT, sys.executable, "-m", *PORTAL, "--bind", f"unix:{socket}"]
    with (
        log.open("w+") as words,
        subprocess.Popen(
            command,
            **portal_identity(settings, folder),
            env=portal_variables(settings, url, folder),
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
        ) as portal,
    ):
        try:
            wait_for_socket(socket, portal, log)
            transport = httpx.HTTPTransport(uds=str(socket))
            with httpx.Client(transport=transport, base_url="http://drill") as client:
                yield client
        finally:
            stop_portal(portal)


def portal_identity(settings: Settings, folder: Path) -> dict[str, Any]:
    """The arguments by which root starts the portal as the services' user, to whom the folder is given. Else none."""
    if os.geteuid() != 0 or not settings.service_user:
        return {}
    account = pwd.getpwnam(settings.service_user)
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchown(opened, account.pw_uid, account.pw_gid)
    finally:
        os.close(opened)
    return {"user": settings.service_user, "group": settings.service_user, "extra_groups": []}


def portal_variables(settings: Settings, url: str, folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    return kept | {
        "GROUNDCREW_STATE_DIR": str(folder),
        "GROUNDCREW_CACHE_DIR": str(folder),
        "GROUNDCREW_DATABASE_URL": services_url(url),
        "GROUNDCREW_REDIS_URL": f"unix://{folder}/no-redis.sock",
        "GROUNDCREW_PORT": str(settings.port),
        "GROUNDCREW_SECRET_KEY": secrets.token_urlsafe(32),
        "GROUNDCREW_TIME_ZONE": settings.time_zone,
    }


def wait_for_socket(socket: Path, portal: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while not socket.exists():
        if portal.poll() is not None or time.monotonic() > deadline:
            words = " ".join(log.read_text(errors="replace").split())
            raise BackupBroken("broken.no_portal", said=words[-LAST_WORDS:])
        time.sleep(0.05)


def stop_portal(portal: "subprocess.Popen[bytes]") -> None:
    portal.send_signal(signal.SIGTERM)
    try:
        portal.wait(STOPS_WITHIN)
    except subprocess.TimeoutExpired:
        portal.kill()
