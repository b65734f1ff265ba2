"""Start the embedded installation, or the services of it that do not run, and wait until the portal answers."""

import errno
import fcntl
import hashlib
import os
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.portal_paths import HEALTH
from cluster.settings import Settings
from cluster.settings_reader import MissingSettings
from cluster.store.migrate import check_database, upgrade_database
from worker.adapters.job_runtime import install_runtime
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate
from worker.bootstrap.paths import InstallationPaths
from worker.bootstrap.terminal import exit_with_error, language_of_terminal, print_sentence
from worker.bootstrap.virtual_environments import uv_variables
from worker.embedded.nginx import copy_static_files, ensure_nginx_configuration
from worker.embedded.processes import end_processes, list_installation_processes
from worker.embedded.settings_file import (
    DEFAULT_PORT,
    LOOPBACK,
    build_portal_url,
    ensure_settings_file,
    read_settings_file,
)
from worker.embedded.state_directory import link_environment
from worker.embedded.supervisor import (
    render_redis_configuration,
    render_supervisor_configuration,
    service_variables,
)
from worker.embedded.supervisor_client import SupervisorClient

CODE = ("cluster", "portal", "worker", "docs/howto")
"""The folders of the checkout that the services read."""
OF_NGINX = ("nginx.conf", "site.conf", "start", "portal.pem")
PORTAL_TIMEOUT = 60
"""Seconds that the portal has to answer before make up shows its log instead."""


@contextmanager
def hold_make_lock(places: InstallationPaths) -> Iterator[None]:
    """Holds the lock. A second make up or make down waits until the first has done what changes processes."""
    with (places.state_dir / "run" / "make.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_sentence("Another make is at work on this installation; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def configure_installation(places: InstallationPaths, port: int | None, host: str | None = None) -> Settings:
    """Writes and returns the settings with the requested port and address. Ends if another program has the port."""
    written = read_settings_file(places.settings_file)
    before, bound = written.get("GROUNDCREW_PORT"), written.get("GROUNDCREW_HOST", LOOPBACK)
    wanted = port or int(before or DEFAULT_PORT)
    is_running = SupervisorClient(places).is_running()
    if not is_running:
        # Processes that a killed supervisord has left are ours, and would keep the port.
        end_processes(list_installation_processes(places), patience=5)
    if not is_running or before != str(wanted):
        check_port_free(wanted, host or bound)
    try:
        settings = Settings.from_environment(ensure_settings_file(places, wanted, host))
        ensure_tls_files(settings)
        return settings
    except MissingSettings as error:
        names = ", ".join(error.data["names"])
        exit_with_error("{file} has no usable value for: {names}", file=places.settings_file, names=names)


def ensure_tls_files(settings: Settings) -> None:
    """Ensures the installation's own authority and a certificate for its address. A later make up renews them."""
    if settings.tls_dir is None or settings.host == LOOPBACK:
        return
    settings.tls_dir.mkdir(mode=0o700, exist_ok=True)
    ensure_authority(settings.tls_dir, f"Groundcrew on {socket.gethostname()}")
    ensure_certificate(settings.tls_dir, [settings.host])


def start_services(places: InstallationPaths, settings: Settings) -> None:
    """Start the services that do not run. If code or settings have changed, start all of them again."""
    supervisor = SupervisorClient(places)
    places.supervisor_file.write_text(render_supervisor_configuration(places))
    (places.state_dir / "run" / "redis.conf").write_text(render_redis_configuration(places))
    ensure_nginx_configuration(places, settings)
    now = code_fingerprint(places)
    remembered = fingerprint_file(places)
    if supervisor.is_running():
        if remembered.exists() and remembered.read_text() == now:
            supervisor.start_stopped_services()
            return
        with refused_database(settings):
            check_database(settings)
        print_sentence("The code or a setting has changed: starting the services anew. Trainings go on.")
        supervisor.stop_all()
        end_processes(list_installation_processes(places), patience=5)
    with ThreadPoolExecutor(1) as pool:
        # pip takes a second to load, in which the database can be migrated.
        uv = pool.submit(uv_variables, [sys.executable, "-m", "pip"])
        install_runtime(settings.runtime_dir, settings.job_ids)
        copy_static_files(places, settings)
        migrate_database(settings)
        link_environment(places, Path(sys.prefix))
    supervisor.start_supervisord(service_variables(read_settings_file(places.settings_file), uv.result()))
    remembered.write_text(now)


def wait_for_portal(places: InstallationPaths, settings: Settings) -> None:
    """Waits until /health answers. If it does not in time, prints the end of the silent service's log and exits."""
    end_of_patience = time.monotonic() + PORTAL_TIMEOUT
    while not is_portal_healthy(settings):
        if time.monotonic() > end_of_patience:
            log = places.log_dir / f"{find_silent_service(places)}.log"
            words = log.read_text(errors="replace").splitlines()[-12:] if log.exists() else []
            print("\n".join(words), file=sys.stderr)
            exit_with_error(
                "The portal gave no answer for {seconds} s. Its log: {log}", seconds=PORTAL_TIMEOUT, log=log
            )
        time.sleep(0.2)


def find_silent_service(places: InstallationPaths) -> str:
    """Finds the service whose log says why nothing answers: nginx if it does not run, else the portal."""
    states = {each.name: each.state for each in SupervisorClient(places).list_services()}
    return "portal" if states.get("nginx") == "RUNNING" else "nginx"


def is_portal_healthy(settings: Settings) -> bool:
    """Whether the portal answers at its own address. The public address may belong to a proxy of the site."""
    try:
        url = f"{build_portal_url(settings.host, str(settings.port))}{HEALTH}"
        answer = httpx.get(url, timeout=5, verify=tls_context(settings), trust_env=False)
        return bool(answer.is_success and answer.json()["status"] == "ok")
    except (httpx.HTTPError, OSError, ValueError, KeyError):
        return False


def tls_context(settings: Settings) -> ssl.SSLContext:
    """A context that trusts the installation's own authority; without TLS it trusts nobody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.tls_dir is not None:
        context.load_verify_locations(settings.tls_dir / "authority.pem")
    return context


def migrate_database(settings: Settings) -> None:
    """Migrates the database. Ends with a sentence if it is newer than this code or was made by others."""
    with refused_database(settings):
        done = upgrade_database(settings)
    if done.copy is not None:
        print_sentence("The database was copied to {copy} and brought to this version.", copy=done.copy)


@contextmanager
def refused_database(settings: Settings) -> Iterator[None]:
    """Ends with a sentence if the database cannot be migrated."""
    try:
        yield
    except GroundcrewError as error:
        exit_with_error(
            "{reason} Nothing was changed. The database, and the copies made before each migration, "
            "are in {folder}",
            reason=words.sentence(error.code, error.data, language_of_terminal()),
            folder=settings.state_dir / "database",
        )


def check_port_free(port: int, host: str = "127.0.0.1") -> None:
    """Ends with the holder's name if another program listens on the port, or if this user may not."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            exit_with_error("Port {port} needs root. Choose one from 1024: make up PORT=8471", port=port)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                exit_with_error("{host} is no address of this machine any more. Name another one, or: "
                     "make up HOST=127.0.0.1", host=host)  # fmt: skip
            holder = find_port_holder(port)
            other = port + 1 if port < 65535 else 8471
            if holder is None:
                exit_with_error("Port {port} is taken by another program. Choose another: make up PORT={other}",
                     port=port, other=other)  # fmt: skip
            exit_with_error("Port {port} is taken by {name} (process {pid}). Choose another: make up PORT={other}",
                 port=port, name=holder.name(), pid=holder.pid, other=other)  # fmt: skip


def find_port_holder(port: int) -> psutil.Process | None:
    """Returns None if the kernel does not show it to this user."""
    try:
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port and each.pid:
                return psutil.Process(each.pid)
    except (psutil.AccessDenied, psutil.NoSuchProcess):
        return None
    return None


def code_fingerprint(places: InstallationPaths) -> str:
    """A hash of the code's files, the settings and the environment. If it differs, services are started again."""
    digest = hashlib.sha256()
    for folder in CODE:
        for file in sorted((places.clone / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(os.fsencode(file.relative_to(places.clone)) + b"\0" + file.read_bytes() + b"\0")
    for file in (
        places.settings_file,
        places.supervisor_file,
        *(file for file in (places.nginx_dir / name for name in OF_NGINX) if file.exists()),
    ):
        digest.update(file.read_bytes() + b"\0")
    digest.update(os.fsencode(sys.prefix))
    return digest.hexdigest()


def fingerprint_file(places: InstallationPaths) -> Path:
    """The file that remembers the fingerprint of the services that run now."""
    return places.state_dir / "run" / "started-with"
