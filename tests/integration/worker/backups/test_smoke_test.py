"""The last step of a drill: a real portal on the restored copy opens its pages, and is gone afterwards."""

from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cluster.services.context import Cluster
from tests.builders import a_job, a_training, a_workspace, an_administrator
from tests.conftest import Clock
from worker.backups import smoke_test
from worker.backups.drill import drill_newest_backup
from worker.backups.dump import make_backup
from worker.backups.errors import BackupBroken


def portals_left() -> list[int]:
    return [
        child.pid
        for child in psutil.Process().children(recursive=True)
        if "portal.wsgi:app" in child.cmdline()
    ]


@pytest.fixture
def lab(light_cluster: Cluster) -> Cluster:
    (light_cluster.settings.state_dir / "database").mkdir()
    return light_cluster


def test_pages_open_on_what_was_restored(lab: Cluster, clock: Clock) -> None:
    a_job(lab, a_training(lab, a_workspace(lab, an_administrator(lab))))
    make_backup(lab.settings, clock())
    proved = drill_newest_backup(lab.settings, clock(), smoke_test.run_smoke_test)
    assert (proved["problem"], portals_left()) == ("", [])


def test_a_page_that_does_not_open_makes_it_no_backup(
    lab: Cluster, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before there is anybody, the page of the first administrator is looked at."""
    make_backup(lab.settings, clock())
    assert drill_newest_backup(lab.settings, clock(), smoke_test.run_smoke_test)["problem"] == ""
    monkeypatch.setattr(smoke_test, "PAGES_WITHOUT_USERS", ("/nowhere",))
    problem = drill_newest_backup(lab.settings, clock(), smoke_test.run_smoke_test)["problem"]
    assert problem == {"code": "broken.page_refused", "data": {"path": "/nowhere", "status": 404}}


def test_a_database_on_which_no_portal_starts_is_said_with_its_last_words(
    lab: Cluster, tmp_path: Path
) -> None:
    broken = replace(lab.settings, time_zone="Mars/Base")
    with pytest.raises(BackupBroken, match="no_portal.*TIME_ZONE"):
        smoke_test.run_smoke_test(broken, f"sqlite:///{tmp_path}/nothing.db")
    assert portals_left() == []
