"""Opens a scratch database as a cluster, so that services can read and settle it. Its changes are not published."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster, utc_now
from cluster.settings import Settings
from cluster.store.engine import Store


@contextmanager
def open_scratch_cluster(
    settings: Settings, url: str, now: Callable[[], datetime] = utc_now
) -> Iterator[Cluster]:
    """Opens the database at `url`, and closes it at the end."""
    store = Store(url)
    with closing(store):
        yield Cluster(store, NullEventBus(), replace(settings, database_url=url), now)
