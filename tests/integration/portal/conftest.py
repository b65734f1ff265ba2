"""A portal under gunicorn on a free port, with the cluster behind it."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from cluster.services.people import sessions
from cluster.store.users import User
from tests.free_ports import free_port
from tests.integration.conftest import a_cluster, a_ground, redis_server, settings_on

ROOT = Path(__file__).parents[3]
STARTS_WITHIN_SECONDS = 120


@dataclass
class Portal:
    cluster: Cluster
    process: "subprocess.Popen[bytes]"
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token_for(self, user: User) -> str:
        return sessions.begin_session(self.cluster, user.id, "127.0.0.1", "a test")


@pytest.fixture(scope="module")
def portal(migrated_file: Path) -> Iterator[Portal]:
    """One for all that leave it as it is: starting it costs more than most tests."""
    with a_portal(migrated_file) as portal:
        yield portal


@pytest.fixture
def lone_portal(migrated_file: Path) -> Iterator[Portal]:
    """For a test after which nothing of it works any more."""
    with a_portal(migrated_file) as portal:
        yield portal


@contextmanager
def a_portal(migrated_file: Path) -> Iterator[Portal]:
    """With a Redis of its own."""
    with (
        a_ground() as ground,
        redis_server(ground / "run" / "redis.sock") as redis_url,
        a_cluster(settings_on(ground, migrated_file, redis_url)) as cluster,
        serve(cluster, ground / "portal.log") as portal,
    ):
        yield portal


@contextmanager
def serve(cluster: Cluster, log: Path) -> Iterator[Portal]:
    settings, port = cluster.settings, free_port()
    environment = os.environ | {
        "GROUNDCREW_STATE_DIR": str(settings.state_dir),
        "GROUNDCREW_CACHE_DIR": str(settings.cache_dir),
        "GROUNDCREW_DATABASE_URL": settings.database_url,
        "GROUNDCREW_REDIS_URL": settings.redis_url,
        "GROUNDCREW_SECRET_KEY": settings.secret_key,
        "GROUNDCREW_PORT": str(port),
    }
    options = ["--config", "python:portal.gunicorn", "--bind", f"127.0.0.1:{port}"]
    command = [sys.executable, "-m", "gunicorn", *options, "portal.wsgi:app"]
    with log.open("wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sink, stderr=sink)
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/health", process, log)
        yield Portal(cluster, process, port, log)
    finally:
        process.terminate()
        process.wait(60)


def wait_until_it_answers(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert answer.status == 200
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
