"""The kind of the database decides who reads and loads it."""

from dataclasses import replace

import pytest

from cluster.services.context import Cluster
from worker.backups.databases.backup_databases import open_backup_database


@pytest.mark.parametrize(
    ("url", "kind"),
    [("sqlite:////var/lib/groundcrew.db", "sqlite"), ("postgresql+psycopg://a@/groundcrew", "postgresql")],
)
def test_a_database_is_opened_by_its_kind(light_cluster: Cluster, url: str, kind: str) -> None:
    settings = replace(light_cluster.settings, database_url=url, owner_database_url=url)
    assert open_backup_database(settings).kind == kind
