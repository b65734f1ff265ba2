"""A copy of a database is compared with its original by migration, rows and the newest audit entry."""

from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import text

from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from cluster.store.engine import Store
from tests.builders import a_user, actor_of, an_administrator
from tests.store.audit_tampering import tamper
from worker.backups.database_contents import (
    DatabaseSummary,
    check_audit_triggers,
    check_same_summary,
    count_rows,
    read_summary,
)
from worker.backups.errors import BackupBroken

SUMMARY = DatabaseSummary("0002", {"users": 3, "jobs": 1}, 7)


def test_a_summary_counts_the_rows_of_every_table(cluster: Cluster) -> None:
    with cluster.store.read() as session:
        empty = read_summary(session.connection())
    assert empty.audit_head is None and empty.rows["users"] == 0
    person = an_administrator(cluster)
    a_user(cluster)
    with cluster.store.write() as session:
        for number in (1, 2):
            add_audit_entry(session, cluster.clock(), actor_of(person), "job.submitted", number)
    with cluster.store.read() as session:
        connection = session.connection()
        full = read_summary(connection)
        assert full.rows == count_rows(connection) == empty.rows | {"users": 2, "audit_entries": 2}
        newest = connection.exec_driver_sql("SELECT max(id) FROM audit_entries").scalar_one()
    assert (full.revision, full.audit_head) == (empty.revision, newest)


def test_a_database_without_our_tables_is_refused(cluster: Cluster) -> None:
    owner = Store(cluster.settings.owner_url)
    with (
        closing(owner),
        pytest.raises(BackupBroken, match=r"broken\.not_ours"),
        owner.write() as session,
    ):
        session.execute(text("DROP TABLE alembic_version"))
        read_summary(session.connection())


@pytest.mark.parametrize(
    ("copy", "code", "data"),
    [
        (replace(SUMMARY, revision="0001"), "broken.other_migration", {"found": "0001", "expected": "0002"}),
        (replace(SUMMARY, rows={"users": 2, "jobs": 1}), "broken.other_rows",
         {"table": "users", "found": 2, "expected": 3}),
        (replace(SUMMARY, rows={"users": 3}), "broken.other_rows", {"table": "jobs", "found": 0, "expected": 1}),
        (replace(SUMMARY, audit_head=None), "broken.other_end", {"found": 0, "expected": 7}),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(copy: DatabaseSummary, code: str, data: dict[str, object]) -> None:
    check_same_summary(replace(SUMMARY), SUMMARY)
    with pytest.raises(BackupBroken) as broken:
        check_same_summary(copy, SUMMARY)
    assert (broken.value.code, broken.value.data) == (code, data)


def test_an_audit_that_could_be_changed_unseen_is_refused(cluster: Cluster) -> None:
    with cluster.store.read() as session:
        connection = session.connection()
        check_audit_triggers(connection, count_rows(connection))
    if cluster.store.is_sqlite:
        tamper(cluster.store)
    with closing(Store(cluster.settings.owner_url)) as owner, owner.write() as session:
        connection = session.connection()
        if not cluster.store.is_sqlite:
            session.execute(text("ALTER TABLE audit_entries DISABLE TRIGGER USER"))
        with pytest.raises(BackupBroken) as broken:
            check_audit_triggers(connection, {"audit_entries": 0, "audit_seals": 0})
        assert (broken.value.code, broken.value.data) == ("broken.unguarded", {"table": "audit_entries"})
        check_audit_triggers(connection, {"users": 0})
        # Other cases use the same PostgreSQL database.
        session.rollback()
