"""A portal under gunicorn on a free port, with the cluster behind it."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from tests.free_ports import free_port
from tests.integration.portal.served_cluster import ServedCluster, cluster_with_redis, service_environment

ROOT = Path(__file__).parents[3]
STARTS_WITHIN_SECONDS = 120


class Portal(ServedCluster):
    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


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
def a_portal(migrated_file: Path, *options: str) -> Iterator[Portal]:
    """With a Redis of its own; `options` are gunicorn's."""
    with (
        cluster_with_redis(migrated_file) as (cluster, ground),
        serve(cluster, ground / "portal.log", *options) as portal,
    ):
        yield portal


@contextmanager
def serve(cluster: Cluster, log: Path, *more: str) -> Iterator[Portal]:
    port = free_port()
    environment = service_environment(cluster, port)
    options = ["--config", "python:portal.gunicorn", "--bind", f"127.0.0.1:{port}", *more]
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
