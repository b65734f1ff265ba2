"""Operations that were given up are asked for again by a repair, in the name of whoever asked for it."""

import pytest

from cluster.domain.people.actor import Actor
from cluster.domain.states import OperationState
from cluster.services.audit import entries
from cluster.services.context import Cluster
from cluster.services.operations import queries
from cluster.services.people.users import service_actor
from cluster.services.repairs import previews
from cluster.services.repairs import repair_runs as repairs
from cluster.services.repairs.offline_records import CONSOLE_ADDRESS
from cluster.services.repairs.stuck_operations import count_stuck_operations, release_stuck_operations
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, add, an_administrator


@pytest.fixture
def chief(cluster: Cluster) -> Actor:
    a_node(cluster, 2, name="lab-a")
    return actor_of(an_administrator(cluster))


def ask(cluster: Cluster, chief: Actor, name: str = "back-up-now", typed: str = "") -> RepairRun:
    etag = previews.preview_repair(cluster, chief, name).etag
    return repairs.request_repair(cluster, chief, name, etag, "before the update", typed)


def test_stuck_operations_are_asked_again(cluster: Cluster, chief: Actor) -> None:
    now = cluster.clock()
    add(cluster, Operation(kind="dataset.delete", queue="general", subject_id=None, workspace_id=None,
                           requested_by=chief.user_id, requested_at=now, state=OperationState.INTERRUPTED,
                           claims=5, error_code="operation.dropped"))  # fmt: skip
    assert count_stuck_operations(cluster) == 1
    clicker = actor_of(an_administrator(cluster, name="jieun"))
    (released,) = release_stuck_operations(cluster, ask(cluster, clicker).number)
    (entry,) = entries.list_audit_entries(cluster, chief, action="operation.retried")
    assert entry.actor_name == "jieun", "whoever asked for the operation has asked for nothing now"
    assert count_stuck_operations(cluster) == 0
    operation = queries.read_operation(cluster, chief, released)
    assert (operation.state, operation.claims, operation.error_code) == (OperationState.REQUESTED, 0, None)


def test_who_is_at_the_console_without_the_database_is_told_by_the_record(
    cluster: Cluster, chief: Actor
) -> None:
    add(cluster, Operation(kind="dataset.delete", queue="general", subject_id=None, workspace_id=None,
                           requested_by=chief.user_id, requested_at=cluster.clock(),
                           state=OperationState.INTERRUPTED))  # fmt: skip
    assert len(release_stuck_operations(cluster, "1234567890123456")) == 1
    (entry,) = entries.list_audit_entries(cluster, chief, action="operation.retried")
    assert (entry.actor_name, entry.address, entry.data["repair"]) == (
        service_actor(cluster).name, CONSOLE_ADDRESS, "1234567890123456",
    )  # fmt: skip
