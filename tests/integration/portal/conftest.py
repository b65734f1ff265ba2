"""A portal under gunicorn on a free port, with the cluster behind it."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.services import sessions
from cluster.services.context import Cluster
from cluster.store.users import User

ROOT = Path(__file__).parents[3]


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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def portal(cluster: Cluster, ground: Path) -> Iterator[Portal]:
    settings, port = cluster.settings, free_port()
    environment = os.environ | {
        "GROUNDCREW_STATE_DIR": str(settings.state_dir),
        "GROUNDCREW_CACHE_DIR": str(settings.cache_dir),
        "GROUNDCREW_DATABASE_URL": settings.database_url,
        "GROUNDCREW_REDIS_URL": settings.redis_url,
        "GROUNDCREW_SECRET_KEY": settings.secret_key,
        "GROUNDCREW_PORT": str(port),
    }
    log = ground / "portal.log"
    command = [sys.executable, "-m", "gunicorn", "--config", "python:portal.gunicorn", "portal.wsgi:app"]
    with log.open("wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sink, stderr=sink)
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/health", process, log)
        yield Portal(cluster, process, port, log)
    finally:
        process.terminate()
        process.wait(20)


def wait_until_it_answers(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                assert answer.status == 200
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
