"""The rows of full size, at a thousandth of it: what the product itself says of them."""

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from cluster.event_bus import NullEventBus
from cluster.services.audit.seals import check_audit
from cluster.services.context import Cluster
from cluster.store.engine import Store
from tests.bench.full_size.database_file import FOUR_NODES, full_size_file, write_rows
from tests.bench.full_size.postgresql_template import full_size_database
from tests.bench.full_size.rows import planned_jobs
from tests.bench.full_size.sizes import FULL, UNTIL, InstallationSize
from tests.conftest import settings_for
from tests.databases import PostgresqlServer
from worker.backups.database_contents import check_invariants

SMALL = replace(FULL, jobs=1_000, audit_entries=2_500, nodes=8, operations=200)
OVERLAPS = (
    "SELECT a.id FROM allocations a JOIN allocations b ON a.unit_id = b.unit_id AND a.id < b.id"
    " WHERE a.begun_at < b.ended_at AND b.begun_at < a.ended_at"
)
UNNATURAL_TIMES = (
    "SELECT id FROM jobs WHERE submitted_at > dispatched_at OR dispatched_at > started_at OR started_at > ended_at"
    " OR ended_at > :until"
)
COUNTED = (
    "users",
    "jobs",
    "attempts",
    "allocations",
    "job_events",
    "units",
    "audit_entries",
    "audit_seals",
)


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "groundcrew.db"
    write_rows(file, SMALL)
    return file


def test_the_rows_satisfy_what_every_database_of_the_product_does(small_file: Path) -> None:
    engine = create_engine(f"sqlite:///{small_file}")
    with engine.connect() as connection:
        check_invariants(connection)
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql(OVERLAPS).all() == [], "no unit was held twice at any moment"
        until = {"until": UNTIL.replace(tzinfo=None).isoformat(" ")}
        assert connection.execute(text(UNNATURAL_TIMES), until).all() == []
    engine.dispose()


def test_the_audit_is_sealed_and_whole(small_file: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{small_file}"
    store = Store(url)
    cluster = Cluster(store, NullEventBus(), settings_for(url, tmp_path), lambda: UNTIL)
    status = check_audit(cluster, [])
    store.close()
    assert (status.entries, status.sealed, status.seals, status.violation) == (2_500, 2_500, 3, None)


@pytest.mark.parametrize("nodes", [4, 8, 500])
def test_of_a_hundred_jobs_79_have_finished_whatever_the_nodes(nodes: int) -> None:
    jobs = list(planned_jobs(replace(SMALL, nodes=nodes)))
    assert Counter(job.state for job in jobs) == {
        "finished": 790,
        "failed": 140,
        "stopped": 60,
        "waiting": 10,
    }
    assert {job.node_id for job in jobs} <= set(range(1, nodes + 1))
    assert all(job.first_unit + job.units <= 8 for job in jobs if job.state != "waiting")


def test_the_terms_hold_no_more_units_than_there_are() -> None:
    for size in (FULL, FOUR_NODES, SMALL):
        assert size.quota * (size.workspaces - 1) + size.measured_quota <= size.units


def test_a_group_of_nodes_cannot_be_cut() -> None:
    with pytest.raises(ValueError, match="nodes=6"):
        InstallationSize(nodes=6)


def test_postgresql_gets_the_same_rows(
    postgresql: PostgresqlServer, tmp_path: Path, small_file: Path
) -> None:
    with closing(sqlite3.connect(small_file)) as source:
        expected = {table: source.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in COUNTED}
    with full_size_database(postgresql, SMALL, tmp_path) as url:
        store = Store(url)
        cluster = Cluster(store, NullEventBus(), settings_for(url, tmp_path), lambda: UNTIL)
        with store.read() as session:
            check_invariants(session.connection())
            found = {table: session.scalar(text(f"SELECT count(*) FROM {table}")) for table in COUNTED}
            following = session.scalar(text("SELECT nextval(pg_get_serial_sequence('jobs', 'id'))"))
        assert check_audit(cluster, []).violation is None
        store.close()
    assert found == expected
    assert following == SMALL.jobs + 1


def test_the_file_is_made_once_and_anew_for_another_size(tmp_path: Path) -> None:
    tiny = replace(SMALL, jobs=20, audit_entries=20, nodes=4, operations=10, repair_runs=1)
    with full_size_file(tiny, tmp_path) as path:
        made = path.stat().st_mtime_ns
    with full_size_file(tiny, tmp_path) as path:
        assert path.stat().st_mtime_ns == made
    with full_size_file(replace(tiny, jobs=21), tmp_path) as other:
        assert other != path
