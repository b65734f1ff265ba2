"""The audit list: for administrators, newest first, in pages, by what one looks for."""

from typing import Any

import pytest
from sqlalchemy import event

from cluster.domain.errors import Forbidden
from cluster.domain.people.actor import Actor
from cluster.services.audit import entries
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from tests.builders import a_user, actor_of, an_administrator
from tests.conftest import Clock


def fill(cluster: Cluster, clock: Clock) -> None:
    """Six entries, an hour apart; the clock stands one hour after the last."""
    minji, jun = Actor(71, "minji", address="192.0.2.1"), Actor(72, "jun")
    for number, (actor, action, outcome) in enumerate(
        [
            (minji, "user.created", "done"),
            (jun, "job.submitted", "done"),
            (Actor(0, ""), "session.refused", "refused"),
            (minji, "job.stopped", "done"),
            (jun, "session.begun", "done"),
            (minji, "user.disabled", "done"),
        ]
    ):
        with cluster.store.write() as session:
            add_audit_entry(session, clock.now, actor, action, number, outcome, note=f"number {number}")
        clock.move(hours=1)


def test_entries_are_found_by_what_one_looks_for(cluster: Cluster, clock: Clock) -> None:
    begun = clock.now
    fill(cluster, clock)
    administrator = actor_of(an_administrator(cluster))

    def found(**wanted: object) -> list[int | None]:
        return [entry.object_id for entry in entries.list_audit_entries(cluster, administrator, **wanted)]  # type: ignore[arg-type]

    assert found() == [5, 4, 3, 2, 1, 0]
    assert found(actor_name="minji") == [5, 3, 0]
    assert found(action="job.stopped") == [3]
    assert found(object_kind="session") == [4, 2]
    assert found(object_kind="user", object_id=5) == [5]
    assert found(outcome="refused") == [2]
    assert found(since=begun.replace(hour=begun.hour + 2), until=begun.replace(hour=begun.hour + 4)) == [3, 2]
    assert found(actor_name="nobody-here") == []
    assert found(limit=0) == [5]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({"object_kind": "backup"}, "ix_audit_entries_object_kind_id"),
        ({"actor_name": "minji"}, "ix_audit_entries_actor_name_id"),
        ({"outcome": "refused"}, "ix_audit_entries_not_done"),
    ],
)
def test_rare_entries_are_found_by_an_index_in_the_order_of_the_list(
    cluster: Cluster, wanted: dict[str, str], index: str
) -> None:
    """SQLite alone: PostgreSQL chooses by the number of rows, and tests/bench/page_costs asks it at full size."""
    if not cluster.store.is_sqlite:
        return
    executed: list[tuple[str, Any]] = []
    note = lambda *given: executed.append((given[2], given[3]))  # noqa: E731
    administrator = actor_of(an_administrator(cluster))
    event.listen(cluster.store.engine, "before_cursor_execute", note)
    entries.list_audit_entries(cluster, administrator, before_id=100, **wanted)  # type: ignore[arg-type]
    event.remove(cluster.store.engine, "before_cursor_execute", note)
    statement, parameters = next(each for each in executed if each[0].startswith("SELECT"))
    with cluster.store.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    assert len(plan) == 1 and f"USING INDEX {index} (" in plan[0][3], plan


def test_pages_follow_each_other_while_entries_are_added(cluster: Cluster, clock: Clock) -> None:
    fill(cluster, clock)
    administrator = actor_of(an_administrator(cluster))
    first = entries.list_audit_entries(cluster, administrator, limit=4)
    fill(cluster, clock)
    second = entries.list_audit_entries(cluster, administrator, limit=4, before_id=first[-1].id)
    assert [entry.object_id for entry in first + second] == [5, 4, 3, 2, 1, 0]


def test_an_entry_says_who_what_when_and_from_where(cluster: Cluster, clock: Clock) -> None:
    now = clock.now
    fill(cluster, clock)
    entry = entries.list_audit_entries(cluster, actor_of(an_administrator(cluster)))[-1]
    assert (entry.at, entry.actor_id, entry.actor_name, entry.address) == (now, 71, "minji", "192.0.2.1")
    assert (entry.object_kind, entry.object_id, entry.data) == ("user", 0, {"note": "number 0"})


def test_only_administrators_read_it(cluster: Cluster) -> None:
    with pytest.raises(Forbidden):
        entries.list_audit_entries(cluster, actor_of(a_user(cluster)))
