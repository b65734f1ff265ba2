"""A service of the portal in a process of its own, with the cluster behind it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.services.context import Cluster
from cluster.services.people import sessions
from cluster.store.users import User
from tests.integration.conftest import a_cluster, a_ground, redis_server, settings_on
from tests.machine.service_variables import service_variables


@dataclass
class ServedCluster:
    cluster: Cluster
    process: "subprocess.Popen[bytes]"
    port: int
    log: Path

    def token_for(self, user: User) -> str:
        return sessions.begin_session(self.cluster, user.id, "127.0.0.1", "a test")


@contextmanager
def cluster_with_redis(migrated_file: Path) -> Iterator[tuple[Cluster, Path]]:
    """A cluster with a Redis of its own, and the folder for logs."""
    with (
        a_ground() as ground,
        redis_server(ground / "run" / "redis.sock") as redis_url,
        a_cluster(settings_on(ground, migrated_file, redis_url)) as cluster,
    ):
        yield cluster, ground


def service_environment(cluster: Cluster, port: int) -> dict[str, str]:
    """What a service reads to work on the same rows as this process."""
    return os.environ | service_variables(cluster.settings, GROUNDCREW_PORT=str(port))
