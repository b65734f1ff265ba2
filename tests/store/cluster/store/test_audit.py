"""Audit entries are made from an actor and an action; the database takes none of them back."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from cluster.domain.people.actor import Actor
from cluster.store.audit import AuditEntry, AuditSeal, add_audit_entry, audit_entry_columns
from cluster.store.engine import Store
from tests.conftest import Clock

REFUSED = "append-only|permission denied"
"""The triggers refuse everybody; PostgreSQL's privileges refuse the services before that."""
CHANGES = ("update", "delete", "truncate or replace")


def change_statement(store: Store, table: str, change: str, column: str) -> str:
    by_stealth = (
        f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}" if store.is_sqlite else f"TRUNCATE {table}"
    )
    return {
        "update": f"UPDATE {table} SET {column} = 'nothing'",
        "delete": f"DELETE FROM {table}",
        "truncate or replace": by_stealth,
    }[change]


@pytest.mark.parametrize("change", CHANGES)
def test_audit_entries_can_only_be_added(store: Store, clock: Clock, change: str) -> None:
    with store.write() as session:
        add_audit_entry(session, clock(), Actor(1, "minji"), "user.created", 2)
    statement = change_statement(store, "audit_entries", change, "action")
    with pytest.raises(DBAPIError, match=REFUSED), store.write() as session:
        session.execute(text(statement))
    with store.read() as session:
        assert session.execute(text("SELECT action FROM audit_entries")).all() == [("user.created",)]


@pytest.mark.parametrize("change", CHANGES)
def test_audit_seals_can_only_be_added(store: Store, clock: Clock, change: str) -> None:
    seal = AuditSeal(
        id=1, at=clock(), last_id=1, entries=1, key_id="k", digests=[[1, "d"]], previous="", mac="m"
    )
    with store.write() as session:
        session.add(seal)
    with pytest.raises(DBAPIError, match=REFUSED), store.write() as session:
        session.execute(text(change_statement(store, "audit_seals", change, "mac")))
    with store.read() as session:
        assert session.execute(text("SELECT mac FROM audit_seals")).all() == [("m",)]


def test_an_entry_says_who_did_what_from_where_and_how_it_ended(store: Store, clock: Clock) -> None:
    actor = Actor(7, "minji", address="192.0.2.1", request_id="r-1")
    with store.write() as session:
        add_audit_entry(session, clock(), actor, "job.submitted", 3, "refused", units=2, name="first")
    with store.read() as session:
        entry = session.get_one(AuditEntry, 1)
        assert (entry.at, entry.actor_id, entry.actor_name) == (clock(), 7, "minji")
        assert (entry.address, entry.request_id) == ("192.0.2.1", "r-1")
        assert (entry.action, entry.object_kind, entry.object_id) == ("job.submitted", "job", 3)
        assert (entry.outcome, entry.data) == ("refused", {"units": 2, "name": "first"})


def test_an_entry_of_nobody_in_particular_has_no_actor_id_and_long_texts_are_cut(clock: Clock) -> None:
    columns = audit_entry_columns(
        clock(), Actor(0, "n" * 70, False, "a" * 70, "r" * 70), "session.refused", None, {}
    )
    assert columns["actor_id"] is None and columns["object_id"] is None
    assert [len(columns[name]) for name in ("actor_name", "address", "request_id")] == [64, 64, 64]
    assert columns["outcome"] == "done"
