"""Starts the embedded set, or what is missing of it, and waits until the portal answers."""

import fcntl
import json
import socket
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from cluster.settings import MissingSettings, Settings
from worker.adapters.certificates import ensure_authority, ensure_certificate
from worker.adapters.runtime import install_runtime
from worker.embedded.database import ensure_database
from worker.embedded.environment import settings_for_uv
from worker.embedded.nginx import copy_static_files, ensure_nginx
from worker.embedded.places import Places
from worker.embedded.port import check_port
from worker.embedded.processes import end, of_installation
from worker.embedded.release import fingerprint, started_with
from worker.embedded.say import say, stop
from worker.embedded.services import (
    Supervisor,
    redis_configuration,
    service_environment,
    supervisor_configuration,
)
from worker.embedded.settings_file import DEFAULT_PORT, LOOPBACK, address, ensure_settings, read_settings
from worker.embedded.state import point_to_environment

ANSWERS_WITHIN = 60
"""Seconds that the portal has to answer before make up shows its log instead."""


@contextmanager
def only_one(places: Places) -> Iterator[None]:
    """A second make up or make down waits until the first has done what changes processes."""
    with (places.state / "run" / "make.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another make is at work on this installation; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def configure(places: Places, port: int | None, host: str | None = None) -> Settings:
    """The settings, with the asked port and address once they are known to be free or ours already."""
    written = read_settings(places.environment_file)
    before, bound = written.get("GROUNDCREW_PORT"), written.get("GROUNDCREW_HOST", LOOPBACK)
    wanted = port or int(before or DEFAULT_PORT)
    is_running = Supervisor(places).is_running()
    if not is_running:
        # What a killed supervisord left behind is ours, and would hold the port.
        end(of_installation(places), patience=5)
    if not is_running or before != str(wanted):
        check_port(wanted, host or bound)
    try:
        settings = Settings.from_environment(ensure_settings(places, wanted, host))
        ensure_tls(settings)
        return settings
    except MissingSettings as error:
        names = ", ".join(error.data["names"])
        stop("{file} has no usable value for: {names}", file=places.environment_file, names=names)


def ensure_tls(settings: Settings) -> None:
    """The installation's own authority and a certificate for its address; renewed by a later make up."""
    if settings.tls_dir is None or settings.host == LOOPBACK:
        return
    settings.tls_dir.mkdir(mode=0o700, exist_ok=True)
    ensure_authority(settings.tls_dir, f"Groundcrew on {socket.gethostname()}")
    ensure_certificate(settings.tls_dir, [settings.host])


def start(places: Places, settings: Settings) -> None:
    """Start what is not running; where code or settings have changed, start all of it anew."""
    supervisor = Supervisor(places)
    places.supervisor_file.write_text(supervisor_configuration(places))
    (places.state / "run" / "redis.conf").write_text(redis_configuration(places))
    ensure_nginx(places, settings)
    now = fingerprint(places)
    remembered = started_with(places)
    if supervisor.is_running():
        if remembered.exists() and remembered.read_text() == now:
            supervisor.start_what_is_not_running()
            return
        say("The code or a setting has changed: starting the services anew. Trainings go on.")
        supervisor.stop()
        end(of_installation(places), patience=5)
    with ThreadPoolExecutor(1) as pool:
        # A second in which pip loads, and in which the database can be migrated.
        uv = pool.submit(settings_for_uv, [sys.executable, "-m", "pip"])
        install_runtime(settings.runtime_dir, settings.job_ids)
        copy_static_files(places, settings)
        ensure_database(settings)
        point_to_environment(places, Path(sys.prefix))
    supervisor.start(service_environment(read_settings(places.environment_file), uv.result()))
    remembered.write_text(now)


def wait_for_the_portal(places: Places, settings: Settings) -> None:
    """Until /health answers; where it does not, the last words of the portal's log and its place."""
    end_of_patience = time.monotonic() + ANSWERS_WITHIN
    while not is_healthy(settings):
        if time.monotonic() > end_of_patience:
            log = places.log / f"{silent_service(places)}.log"
            words = log.read_text(errors="replace").splitlines()[-12:] if log.exists() else []
            print("\n".join(words), file=sys.stderr)
            stop("The portal gave no answer for {seconds} s. Its log: {log}", seconds=ANSWERS_WITHIN, log=log)
        time.sleep(0.2)


def silent_service(places: Places) -> str:
    """Whose log says why nothing answers: nginx's where it does not run, else the portal's."""
    states = {each.name: each.state for each in Supervisor(places).processes()}
    return "portal" if states.get("nginx") == "RUNNING" else "nginx"


def is_healthy(settings: Settings) -> bool:
    """By the address that people type; a public address of somebody's own proxy is not asked."""
    try:
        with urllib.request.urlopen(
            f"{address(settings.host, str(settings.port))}/health", timeout=5, context=trust(settings)
        ) as answer:
            return bool(json.load(answer)["status"] == "ok")
    except (OSError, urllib.error.URLError, ValueError, KeyError):
        return False


def trust(settings: Settings) -> ssl.SSLContext | None:
    if settings.tls_dir is None:
        return None
    return ssl.create_default_context(cafile=str(settings.tls_dir / "authority.pem"))
