"""make up, status, down and reset with real processes, beside any installation of this machine."""

import json
import math
import os
import signal
import socket
import sqlite3
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest

from tests.free_ports import free_port
from tests.installation import Installation, an_installation
from tests.integration.worker.executors.conftest import until
from worker.embedded.processes import list_installation_processes
from worker.embedded.settings_file import read_settings_file
from worker.embedded.supervisor_client import SupervisorClient


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with an_installation() as installation:
        yield installation


def test_the_portal_answers_and_the_terminal_says_how_to_get_in(installation: Installation) -> None:
    said = installation.up()
    assert f"Groundcrew is running at http://127.0.0.1:{installation.port}" in said
    assert f"ssh -L {installation.port}:127.0.0.1:{installation.port} " in said
    assert "/first-administrator" in said and "One-time secret:" in said
    assert installation.health() == "ok"


def test_the_second_time_nothing_is_started_again(installation: Installation) -> None:
    installation.ensure_up()
    portal = installation.pids()["portal"]
    started = time.monotonic()
    installation.up()
    assert installation.pids()["portal"] == portal
    assert time.monotonic() - started < 15


def test_a_service_that_was_stopped_is_started_again(installation: Installation) -> None:
    installation.ensure_up()
    SupervisorClient(installation.places).call("stopProcess", "redis", True)
    installation.up()
    assert installation.pids()["redis"] > 0


def test_redis_listens_on_no_port(installation: Installation) -> None:
    installation.ensure_up()
    redis = psutil.Process(installation.pids()["redis"])
    assert [each for each in redis.net_connections("inet") if each.status == psutil.CONN_LISTEN] == []
    assert installation.places.redis_socket.is_socket()


HALF_A_HEAD = b"GET /sign-in HTTP/1.1\r\nHost: x\r\nX-Half: "
HALF_A_BODY = (
    b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 5000\r\n\r\n"
)


def test_300_requests_that_never_end_keep_nobody_waiting_and_are_ended(installation: Installation) -> None:
    """Half of them never end their head, half their body. All come from one address, which is everybody's on this
    machine. Each brings a byte now and then."""
    installation.ensure_up()
    with ExitStack() as held:
        half_open = [
            held.enter_context(socket.create_connection(("127.0.0.1", installation.port), timeout=30))
            for _ in range(300)
        ]
        for number, each in enumerate(half_open):
            each.sendall((HALF_A_HEAD, HALF_A_BODY)[number % 2])
        for _ in range(5):
            for each in half_open:
                each.sendall(b"a")
            for path in ("/health", "/sign-in", "/static/app.css"):
                assert seconds_for(installation, path) < OTHERS_WAIT
        assert all(is_ended(each, ENDED_WITHIN) for each in half_open)
    assert installation.health() == "ok"


OTHERS_WAIT = 2.0
"""Seconds; 0.02 where the machine does nothing else."""
ENDED_WITHIN = 30.0


def seconds_for(installation: Installation, path: str) -> float:
    """Infinite where it is not answered within ten seconds."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{installation.port}{path}", timeout=10) as answer:
            answer.read()
    except OSError:
        return math.inf
    return time.monotonic() - began


def is_ended(connection: socket.socket, within: float) -> bool:
    """Whether the other side ends it by itself, with 408 or without a word."""
    connection.settimeout(within)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def test_the_portal_has_no_port_and_starts_anew_while_requests_wait(installation: Installation) -> None:
    installation.ensure_up()
    pids = installation.pids()
    portal = psutil.Process(pids["portal"])
    listening = [each for each in portal.net_connections("inet") if each.status == psutil.CONN_LISTEN]
    assert listening == [] and installation.places.portal_socket.is_socket()
    portal.terminate()
    portal.wait(30)
    assert installation.health() == "ok"
    assert installation.pids()["portal"] not in (0, pids["portal"])


def test_an_nginx_that_is_killed_is_started_again(installation: Installation) -> None:
    installation.ensure_up()
    nginx = psutil.Process(installation.pids()["nginx"])
    assert nginx in list_installation_processes(installation.places)
    nginx.kill()
    until(lambda: installation.pids()["nginx"] not in (0, nginx.pid), 30, "nginx runs again")
    until(lambda: math.isfinite(seconds_for(installation, "/health")), 30, "the portal answers")


@pytest.mark.long
def test_services_that_outlive_a_killed_process_manager_are_taken_back(installation: Installation) -> None:
    installation.ensure_up()
    before = installation.pids()
    os.kill(SupervisorClient(installation.places).read_pid(), signal.SIGKILL)
    installation.up()
    assert installation.health() == "ok"
    assert not [pid for pid in before.values() if pid and psutil.pid_exists(pid)]


@pytest.mark.long
def test_another_port_and_address_move_the_portal_which_speaks_tls_alone_there(
    installation: Installation,
) -> None:
    installation.ensure_up()
    port = free_port()
    said = installation.make("up", f"--port={port}", "--host=127.0.0.2", "--no-first-training")
    url, authority = f"https://127.0.0.2:{port}", installation.places.tls_dir / "authority.pem"
    assert said.returncode == 0, said.stderr
    assert f"running at {url}" in said.stdout and str(authority) in said.stdout
    assert read_settings_file(installation.places.settings_file)["GROUNDCREW_PORT"] == str(port)
    trust = ssl.create_default_context(cafile=str(authority))
    with urllib.request.urlopen(f"{url}/health", timeout=5, context=trust) as answer:
        assert json.load(answer)["status"] == "ok"
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/health", timeout=5)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://127.0.0.2:{port}/health", timeout=5)
    assert (installation.places.tls_dir / "authority.key").stat().st_mode & 0o777 == 0o600
    back = installation.make("up", f"--port={installation.port}", "--host=127.0.0.1", "--no-first-training")
    assert back.returncode == 0 and installation.health() == "ok"


def test_a_port_that_another_program_has_is_said_with_its_name(installation: Installation) -> None:
    installation.ensure_up()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        done = installation.make("up", f"--port={taken}", "--no-first-training")
    assert done.returncode == 1
    assert f"Port {taken} is taken by" in done.stderr and "make up PORT=" in done.stderr
    assert installation.health() == "ok"


def test_a_database_that_no_migration_leads_on_from_is_refused(installation: Installation) -> None:
    installation.ensure_up()
    assert installation.make("down").returncode == 0
    database_file = installation.places.database_file
    with closing(sqlite3.connect(database_file)) as database:
        known = database.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    for revision, words in (("9999", "written by a newer version"), ("0018", "made by an older version")):
        set_revision(database_file, revision)
        refused = installation.make("up", "--no-first-training")
        assert refused.returncode == 1
        assert words in refused.stderr
    set_revision(database_file, known)
    assert not list(database_file.parent.glob("before-*"))


def set_revision(database_file: Path, revision: str) -> None:
    with closing(sqlite3.connect(database_file)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = ?", (revision,))


def test_make_status_names_every_service(installation: Installation) -> None:
    installation.ensure_up()
    said = installation.make("status").stdout
    services = (
        "portal",
        "stream",
        "nginx",
        "scheduler",
        "task-workers",
        "agent",
        "redis",
    )
    for name in services:
        assert name in said
    assert f"http://127.0.0.1:{installation.port}" in said
    assert "running jobs: 0" in said
    assert "as it was sealed" in installation.make("audit", "verify").stdout


def test_make_reset_waits_for_make_down(installation: Installation) -> None:
    installation.ensure_up()
    done = installation.make("reset", "--yes")
    assert done.returncode == 1 and "make down" in done.stderr
    assert installation.places.database_file.exists()


def test_the_terminal_speaks_korean_where_its_locale_does(installation: Installation) -> None:
    installation.ensure_up()
    done = installation.make("up", "--no-first-training", LC_ALL="ko_KR.UTF-8")
    assert "다른 컴퓨터에서" in done.stdout


def test_make_down_leaves_no_process_and_make_reset_no_file(installation: Installation) -> None:
    installation.ensure_up()
    tree = psutil.Process(SupervisorClient(installation.places).read_pid()).children(recursive=True)
    done = installation.make("down")
    assert done.returncode == 0, done.stderr
    assert not [each for each in tree if each.is_running()]
    assert list_installation_processes(installation.places) == []
    asked = installation.make("reset")
    assert asked.returncode == 1 and "YES=1" in asked.stderr
    assert installation.make("reset", "--yes").returncode == 0
    assert not installation.places.state_dir.exists()
