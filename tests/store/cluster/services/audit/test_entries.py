"""The audit list: for administrators, newest first, in pages, by what one looks for."""

import pytest

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
