"""Looks at what is not there for a person are recorded, and do not fill the audit."""

from cluster.domain.people.actor import Actor
from cluster.services.audit.unseen_things import ACTION, record_unseen_thing
from cluster.services.context import Cluster
from cluster.store.base import LARGEST_ID
from tests.audit_entries import entries
from tests.conftest import Clock


def test_each_person_leaves_an_entry_a_minute(cluster: Cluster, clock: Clock) -> None:
    for number in range(1, 50):
        record_unseen_thing(cluster, Actor(1, "minji"), "job", number)
    record_unseen_thing(cluster, Actor(2, "taeho"), "dataset", 10**30)
    clock.move(seconds=61)
    record_unseen_thing(cluster, Actor(1, "minji"), "job", LARGEST_ID)
    told = [(each.action, each.actor_name, each.object_kind, each.object_id) for each in entries(cluster)]
    assert told == [
        (ACTION, "minji", "job", 1),
        (ACTION, "taeho", "dataset", None),
        (ACTION, "minji", "job", LARGEST_ID),
    ]
