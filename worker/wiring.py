"""How the entry points of this package get what every service needs."""

from cluster.bell import RedisBell, connect
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from worker.adapters.systemd import SystemdLauncher
from worker.executors.launchers import Launcher
from worker.executors.nursery import NurseryLauncher


def open_cluster(settings: Settings) -> Cluster:
    """Opens no connection yet: a database or a Redis that is away is met at its first use."""
    return Cluster(Store(settings.database_url), RedisBell(connect(settings.redis_url)), settings)


def open_launcher(settings: Settings) -> Launcher:
    return SystemdLauncher() if settings.launcher == "systemd" else NurseryLauncher()
