"""Opens the cluster's services over database and Redis, which all entry points use."""

from cluster.event_bus import RedisEventBus, connect_redis
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from worker.executors.shim_fork_client import ForkedShimStarter
from worker.executors.shim_start import ShimStarter
from worker.executors.shim_systemd_unit import SystemdShimStarter


def open_cluster(settings: Settings) -> Cluster:
    """Opens no connection yet: a database or a Redis that does not answer is noticed at its first use."""
    return Cluster(Store(settings.database_url), RedisEventBus(connect_redis(settings.redis_url)), settings)


def open_shim_starter(settings: Settings) -> ShimStarter:
    has_systemd = settings.installation_kind.capabilities.has_systemd
    return SystemdShimStarter() if has_systemd else ForkedShimStarter()
