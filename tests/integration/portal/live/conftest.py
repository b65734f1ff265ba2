"""The service of streams and logs on a free port, as its process manager starts it, with the cluster behind it."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from tests.integration.portal.served_cluster import ServedCluster, cluster_with_redis, service_environment
from worker.embedded.service_commands import WITH_SOCKET

ROOT = Path(__file__).parents[4]


class Live(ServedCluster):
    """`port` is the one of the service of streams."""


@pytest.fixture(scope="module")
def live(migrated_file: Path) -> Iterator[Live]:
    """One for all that leave it as it is: starting it costs more than most tests."""
    with a_live_service(migrated_file) as live:
        yield live


@pytest.fixture
def lone_live(migrated_file: Path) -> Iterator[Live]:
    """For a test after which nothing of it works any more."""
    with a_live_service(migrated_file) as live:
        yield live


@contextmanager
def a_live_service(migrated_file: Path) -> Iterator[Live]:
    """With a Redis of its own."""
    with (
        cluster_with_redis(migrated_file) as (cluster, ground),
        serve(cluster, ground / "live.log") as live,
    ):
        yield live


@contextmanager
def serve(cluster: Cluster, log: Path) -> Iterator[Live]:
    """It listens from the beginning: who asks before the service is ready waits."""
    environment = service_environment(cluster, cluster.settings.port)
    command = [*WITH_SOCKET, sys.executable, "-m", "portal.live"]
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener, log.open("wb") as sink:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=listener, stdout=sink, stderr=sink
        )
        try:
            yield Live(cluster, process, listener.getsockname()[1], log)
        finally:
            process.terminate()
            process.wait(60)
