"""The installer's step `version` migrates the database, or says on one line why it does not."""

import json
from contextlib import closing

import pytest
from sqlalchemy import text

from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.migrate import head_revision
from worker.commands import admin


@pytest.fixture
def installed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Where the command finds its settings."""
    monkeypatch.setattr(Settings, "from_environment", staticmethod(lambda: cluster.settings))
    return cluster


def set_revision(cluster: Cluster, revision: str) -> None:
    with closing(Store(cluster.settings.owner_url)) as owner, owner.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})


def test_a_migrated_database_is_left_as_it_is(installed: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin.main(["version"]) == 0
    head = head_revision()
    answer = json.loads(capsys.readouterr().out)
    assert answer["database"] == {"changed": False, "before": head, "after": head}


@pytest.mark.parametrize(
    ("revision", "words"),
    [("0018", "Start the older version again, export what you need from it"), ("9999", "by a newer version")],
)
def test_a_database_that_no_migration_leads_on_from_stops_the_installer(
    installed: Cluster, capsys: pytest.CaptureFixture[str], revision: str, words: str
) -> None:
    head = head_revision()
    set_revision(installed, revision)
    try:
        assert admin.main(["version"]) == 1
    finally:
        set_revision(installed, head)
    shown = capsys.readouterr()
    assert words in shown.err and shown.out == ""
