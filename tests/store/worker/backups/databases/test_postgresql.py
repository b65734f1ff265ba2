"""Nothing is put back into a database that somebody uses; who leaves it just now is waited for."""

import time
from types import SimpleNamespace

import pytest
from sqlalchemy.engine import make_url

from cluster.services.context import Cluster
from tests.store.restore_setup import backed_up, refusal, restored
from tests.store.restore_setup import lab as lab
from worker.backups.databases import postgresql as pg


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_while_somebody_uses_the_database_nothing_is_put_back(lab: Cluster) -> None:
    """SQLite's file does not know; make restore asks the process manager."""
    file = backed_up(lab)
    with pg.connect_psycopg(make_url(lab.settings.owner_url)):
        assert refusal(lab, file) == "restore.in_use"


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_who_was_stopped_a_moment_ago_is_waited_for(lab: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    file = backed_up(lab)
    lab.store.close()
    last = pg.connect_psycopg(make_url(lab.settings.owner_url))
    leaving = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: last.close())
    monkeypatch.setattr(pg, "time", leaving)
    restored(lab, file)
