"""Rows of several tables are inserted together, in one statement on PostgreSQL."""

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import IntegrityError

from cluster.services.context import Cluster
from cluster.store.facts import InstallationFact
from cluster.store.leases import Lease
from cluster.store.sql.multi_table_insert import insert_rows

LEASES, FACTS = Lease.__table__, InstallationFact.__table__


def insert_both(cluster: Cluster, name: str) -> None:
    lease = {"name": name, "holder": "one", "fence": 1, "expires_at": cluster.clock()}
    with cluster.store.write() as session:
        insert_rows(
            session.connection(), (LEASES, lease), (FACTS, {"name": name, "value": {"of": [name, None]}})
        )


def test_each_row_is_in_its_table_with_its_own_values(cluster: Cluster) -> None:
    insert_both(cluster, "first")
    insert_both(cluster, "second")
    with cluster.store.read() as session:
        leases = session.scalars(select(Lease).order_by(Lease.name)).all()
        facts = session.scalars(select(InstallationFact).order_by(InstallationFact.name)).all()
    assert [(row.name, row.fence, row.expires_at) for row in leases] == [
        ("first", 1, cluster.clock()),
        ("second", 1, cluster.clock()),
    ]
    assert [(row.name, row.value) for row in facts] == [
        ("first", {"of": ["first", None]}),
        ("second", {"of": ["second", None]}),
    ]


def test_two_rows_of_one_table_may_go_together(cluster: Cluster) -> None:
    rows = [(FACTS, {"name": name, "value": {}}) for name in ("first", "second")]
    with cluster.store.write() as session:
        insert_rows(session.connection(), *rows)
    with cluster.store.read() as session:
        assert set(session.scalars(select(InstallationFact.name))) == {"first", "second"}


def test_postgresql_is_asked_once(cluster: Cluster) -> None:
    statements: list[str] = []

    def remember(connection: object, cursor: object, statement: str, *rest: object) -> None:
        statements.append(statement)

    event.listen(cluster.store.engine, "before_cursor_execute", remember)
    insert_both(cluster, "first")
    inserts = [statement for statement in statements if "INSERT" in statement]
    assert len(inserts) == (2 if cluster.store.is_sqlite else 1)


def test_one_row_that_is_refused_keeps_the_other_out(cluster: Cluster) -> None:
    insert_both(cluster, "first")
    with cluster.store.write() as session:
        session.delete(session.get_one(Lease, "first"))
    with pytest.raises(IntegrityError):
        insert_both(cluster, "first")
    with cluster.store.read() as session:
        assert session.scalars(select(Lease)).all() == []
