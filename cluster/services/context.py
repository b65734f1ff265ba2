"""The one argument of every service: the database, the event bus, the settings and the clock of an installation."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from cluster.event_bus import EventBus
from cluster.settings import Settings
from cluster.store.engine import Store


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Cluster:
    """One installation, as the entry points hand it to pages, tasks and loops."""

    store: Store
    events: EventBus
    settings: Settings
    clock: Callable[[], datetime] = utc_now
