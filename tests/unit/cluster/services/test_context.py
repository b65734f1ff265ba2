"""A cluster has the time of the machine's clock unless it is given another one."""

from datetime import UTC, datetime
from typing import cast

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster, utc_now
from cluster.settings import Settings
from cluster.store.engine import Store


def test_the_clock_is_the_machines_own_in_utc() -> None:
    before = datetime.now(UTC)
    cluster = Cluster(cast(Store, None), NullEventBus(), cast(Settings, None))
    assert before <= cluster.clock() <= utc_now() <= datetime.now(UTC)
    assert utc_now().tzinfo is UTC
