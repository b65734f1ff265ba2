"""Services see a scratch database in place of the installation's."""

from pathlib import Path

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.users import find_user
from tests.builders import an_administrator
from worker.backups.scratch_cluster import open_scratch_cluster


def test_a_scratch_cluster_reads_its_own_database_and_tells_nobody(
    light_cluster: Cluster, migrated_file: Path
) -> None:
    an_administrator(light_cluster, "hjkim")
    url = f"sqlite:///{migrated_file}"
    with open_scratch_cluster(light_cluster.settings, url, light_cluster.clock) as scratch:
        assert isinstance(scratch.events, NullEventBus)
        assert scratch.settings.database_url == url and scratch.clock() == light_cluster.clock()
        with scratch.store.read() as session:
            assert find_user(session, "hjkim") is None
