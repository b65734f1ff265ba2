"""A restore that is killed leaves a whole database."""

from contextlib import closing
from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from cluster.store.engine import Store
from tests.builders import an_administrator
from tests.conftest import Clock
from tests.crash.failpoint_deaths import dies_at
from worker.backups import dump
from worker.backups.drill import no_scratch_check
from worker.backups.restore import restore_backup
from worker.tasks import backups as task

MOST_POINTS = 80


@pytest.fixture
def lab(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(
        task, "run_smoke_test", no_scratch_check
    )  # tests/integration/worker/backups/test_smoke_test.py does.
    (cluster.settings.state_dir / "database").mkdir(exist_ok=True)
    an_administrator(cluster, "hjkim")
    return replace(cluster, settings=replace(cluster.settings, backup_at=time(3, 0)))


ON_POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.long)


@pytest.mark.parametrize("database_kind", ["sqlite", ON_POSTGRESQL], indirect=True)
def test_a_restore_that_is_killed_at_any_step_leaves_a_whole_database(
    lab: Cluster, clock: Clock, tmp_path: Path
) -> None:
    manifest = dump.make_backup(lab.settings, clock())
    file = lab.settings.backups / manifest["name"]
    an_administrator(lab, "minji")
    lab.store.close()
    for number in range(1, MOST_POINTS):
        clock.move(seconds=2)
        died = dies_at(lab, number, lambda child: restored_by(child, file), tmp_path / "log")
        with closing(Store(lab.settings.database_url)) as store, store.read_columns() as connection:
            names = {str(name) for (name,) in connection.exec_driver_sql("SELECT name FROM users")}
            entries = connection.exec_driver_sql("SELECT count(*) FROM audit_entries").scalar_one()
        # What was there, or what was put back and settled: the service's own row is made while it is settled.
        assert names in ({"hjkim", "minji"}, {"hjkim", "groundcrew"}), f"at point {number}: {names}"
        assert ("groundcrew" in names) is bool(entries)
        if not died:
            break
    assert 5 < number < MOST_POINTS - 1 and names == {"hjkim", "groundcrew"}


def restored_by(child: Cluster, file: Path) -> None:
    child.store.close()
    restore_backup(child.settings, file, child.clock)
