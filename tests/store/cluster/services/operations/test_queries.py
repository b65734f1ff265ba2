"""People see the operations that concern them, newest first."""

import pytest

from cluster.domain.alerts import AlertTopic
from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import OperationKind, OperationState
from cluster.services import datasets
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import queries, retries
from cluster.services.operations.lifecycle import request_operation
from tests.builders import a_user, a_workspace, actor_of, an_administrator


def a_build(cluster: Cluster) -> int:
    environment = environments.ensure_default_environment(
        cluster, actor_of(an_administrator(cluster)), "d1", "/e"
    )
    assert environment.operation_id is not None
    return environment.operation_id


def test_operations_of_a_foreign_workspace_do_not_exist(cluster: Cluster) -> None:
    member, stranger = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, members=(member,))
    dataset = datasets.create_sample(cluster, actor_of(member), workspace.id)
    build = a_build(cluster)
    assert dataset.operation_id is not None
    assert [one.id for one in queries.list_operations(cluster, actor_of(stranger))] == [build]
    assert {one.id for one in queries.list_operations(cluster, actor_of(member))} == {
        build,
        dataset.operation_id,
    }
    with pytest.raises(NotFound):
        queries.read_operation(cluster, actor_of(stranger), dataset.operation_id)
    with pytest.raises(NotFound):
        retries.retry_operation(cluster, actor_of(stranger), dataset.operation_id)


def test_open_and_ended_operations_are_listed_apart(cluster: Cluster) -> None:
    actor = actor_of(an_administrator(cluster))
    build = a_build(cluster)
    assert [one.id for one in queries.list_operations(cluster, actor, is_open=True)] == [build]
    assert queries.list_operations(cluster, actor, is_open=False) == []
    assert queries.list_operations(cluster, actor, before_id=build) == []


def test_what_was_given_up_is_found_behind_everything_that_was_done_since(cluster: Cluster) -> None:
    chief, member = actor_of(an_administrator(cluster)), a_user(cluster)
    manager = a_user(cluster)
    place = a_workspace(cluster, manager, (member,))
    with cluster.store.write() as session:
        ids = []
        for by, where in ((chief.user_id, None), (member.id, place.id), (member.id, None)):
            operation = request_operation(
                session, OperationKind.NOTICES, None, actor_of(member), cluster.clock()
            )
            operation.state = OperationState.INTERRUPTED
            operation.requested_by, operation.workspace_id = by, where
            ids.append(operation.id)
        for _ in range(60):
            done = request_operation(session, OperationKind.BACKUP, None, chief, cluster.clock())
            done.state = OperationState.FINISHED

    def found(actor: Actor) -> list[int]:
        return [each.id for each in queries.list_interrupted_operations(cluster, actor, limit=9)]

    assert found(chief) == ids[::-1]
    assert found(actor_of(member)) == [ids[2], ids[1]]
    assert found(actor_of(manager)) == [ids[1]]
    given_up = [
        each.subject for each in list_alerts(cluster, actor_of(member)) if each.topic is AlertTopic.OPERATION
    ]
    assert given_up == [ids[2], ids[1]]
