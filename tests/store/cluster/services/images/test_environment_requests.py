"""Environments are added, shared, built again and deleted by those who may, and never under somebody who uses them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.executors import ExecutorKind
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentState, OperationKind
from cluster.services.context import Cluster
from cluster.services.images import (
    environment_builds,
    environment_deletion,
    environment_list,
    environment_requests,
    environment_scope,
)
from cluster.services.images.environment_rows import EnvironmentRequest
from cluster.services.images.environments import (
    BuiltFromRequirements,
    finish_install,
    read_environment_order,
)
from cluster.services.operations.lifecycle import claim_operation
from cluster.services.operations.queries import list_operations
from cluster.store.environments import Environment
from cluster.store.operations import Operation
from tests.builders import a_user, a_workspace, actor_of, an_administrator, an_environment
from tests.store.job_setup import Lab

BUILT = BuiltFromRequirements(
    "d" * 64, "torch==2.7.1", "3.11.2", 5, [["python", "3.11.2", ""], ["torch", "2.7.1", ""]]
)


def request(lab: Lab, **changes: object) -> EnvironmentRequest:
    usual: dict[str, object] = {
        "name": "torch-2.7",
        "requirements": "torch==2.7.1\n",
        "workspace_ids": [lab.workspace.id],
    }
    return EnvironmentRequest(**(usual | changes))  # type: ignore[arg-type]


def read(cluster: Cluster, actor: Actor, key: int) -> Environment:
    return environment_list.read_environment(cluster, actor, key)


def claim(cluster: Cluster, environment: Environment) -> Operation:
    assert environment.operation_id is not None
    operation = claim_operation(cluster, environment.operation_id, "a worker")
    assert operation is not None
    return operation


def test_a_manager_adds_one_for_the_workspace_and_it_is_built(cluster: Cluster, lab: Lab) -> None:
    manager = actor_of(lab.manager)
    made = environment_requests.add_environment(cluster, manager, request(lab))
    assert made.state is EnvironmentState.BUILDING and made.path.endswith(f"/environments/{made.id}")
    operation = claim(cluster, made)
    assert operation.kind == OperationKind.ENVIRONMENT_INSTALL
    assert read_environment_order(cluster, operation).requirements == "torch==2.7.1\n"
    finish_install(cluster, operation.id, operation.fence, BUILT)
    shown = read(cluster, lab.actor, made.id)
    assert (shown.state, shown.digest, shown.pins) == (EnvironmentState.READY, BUILT.digest, BUILT.pins)
    assert [row.name for row in environment_list.list_environments(cluster, lab.actor)] == [
        "default",
        "torch-2.7",
    ]
    stranger = actor_of(a_user(cluster))
    assert [row.name for row in environment_list.list_environments(cluster, stranger)] == ["default"]
    with pytest.raises(NotFound):
        read(cluster, stranger, made.id)
    ours = {OperationKind.ENVIRONMENT_INSTALL}
    assert ours & {one.kind for one in list_operations(cluster, lab.actor)}
    assert not ours & {one.kind for one in list_operations(cluster, stranger)}


def test_every_field_that_is_wrong_is_named_at_once(cluster: Cluster, lab: Lab) -> None:
    with pytest.raises(Refused) as refusal:
        environment_requests.add_environment(
            cluster, actor_of(lab.manager), request(lab, name="Default", requirements="-e .", python="2.7")
        )
    assert [each.field for each in refusal.value.each] == ["name", "requirements", "python"]
    for taken in ("default", "torch-2.7"):
        an_environment(cluster, "torch-2.7") if taken != "default" else None
        with pytest.raises(Refused) as refusal:
            environment_requests.add_environment(cluster, actor_of(lab.manager), request(lab, name=taken))
        assert refusal.value.code == ("name.reserved" if taken == "default" else "name.taken")


def test_only_who_manages_every_workspace_may_add_and_only_administrators_a_global_one(
    cluster: Cluster, lab: Lab
) -> None:
    other = a_workspace(cluster, a_user(cluster), units=1)
    for actor, workspaces, error in (
        (lab.actor, [lab.workspace.id], Forbidden),
        (actor_of(lab.manager), [], Forbidden),
        (actor_of(lab.manager), [lab.workspace.id, other.id], NotFound),
    ):
        with pytest.raises(error):
            environment_requests.add_environment(cluster, actor, request(lab, workspace_ids=workspaces))
    made = environment_requests.add_environment(
        cluster, actor_of(an_administrator(cluster)), request(lab, workspace_ids=[])
    )
    assert made.is_global
    for change in CHANGES:
        with pytest.raises(Forbidden):
            change(cluster, actor_of(lab.manager), made.id)


CHANGES: list[Callable[[Cluster, Actor, int], object]] = [
    environment_deletion.delete_environment,
    environment_builds.rebuild_environment,
    environment_builds.cancel_build,
    lambda cluster, actor, key: environment_scope.change_scope(cluster, actor, key, None, "new"),
]


def test_what_comes_with_the_installation_is_protected(cluster: Cluster, lab: Lab) -> None:
    administrator = actor_of(an_administrator(cluster))
    (default,) = environment_list.list_environments(cluster, administrator)
    for change in CHANGES:
        with pytest.raises(Conflict, match="protected"):
            change(cluster, administrator, default.id)


def test_where_jobs_run_in_images_nothing_is_built(cluster: Cluster, lab: Lab) -> None:
    pods = replace(cluster, settings=replace(cluster.settings, executor=ExecutorKind.KUBERNETES))
    with pytest.raises(Conflict, match="in_images"):
        environment_requests.add_environment(pods, actor_of(lab.manager), request(lab))
