"""The database holds what the rows promise."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from cluster.domain.people.actor import Actor
from cluster.store.audit import add_audit_entry
from cluster.store.engine import Store
from tests.conftest import Clock


@pytest.mark.parametrize("change", ["update", "delete", "truncate or replace"])
def test_audit_entries_can_only_be_added(store: Store, clock: Clock, change: str) -> None:
    by_stealth = (
        "INSERT OR REPLACE INTO audit_entries SELECT * FROM audit_entries"
        if store.is_sqlite
        else "TRUNCATE audit_entries"
    )
    statement = {
        "update": "UPDATE audit_entries SET action = 'nothing'",
        "delete": "DELETE FROM audit_entries",
        "truncate or replace": by_stealth,
    }[change]
    with store.write() as session:
        add_audit_entry(session, clock(), Actor(1, "minji"), "user.created", 2)
    with pytest.raises(DBAPIError, match="append-only"), store.write() as session:
        session.execute(text(statement))
    with store.read() as session:
        assert session.execute(text("SELECT action FROM audit_entries")).all() == [("user.created",)]
