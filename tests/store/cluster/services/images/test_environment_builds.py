"""A build is cancelled, tried again and refused; its worker finds out."""

import pytest

from cluster.domain.errors import Conflict, Refused
from cluster.domain.states import EnvironmentState, OperationState
from cluster.services.context import Cluster
from cluster.services.images import (
    environment_builds,
    environment_requests,
)
from cluster.services.images.environments import (
    fail_build,
    finish_install,
)
from cluster.services.operations.lifecycle import report_step
from cluster.services.operations.retries import retry_operation
from cluster.store.workspaces import Workspace
from tests.builders import actor_of
from tests.store.cluster.services.images.test_environment_requests import BUILT, claim, read, request
from tests.store.job_setup import Lab


def test_a_build_is_cancelled_and_its_worker_finds_out(cluster: Cluster, lab: Lab) -> None:
    manager = actor_of(lab.manager)
    made = environment_requests.add_environment(cluster, manager, request(lab))
    operation = claim(cluster, made)
    report_step(cluster, operation.id, operation.fence, "install", 0.3)
    environment_builds.cancel_build(cluster, manager, made.id)
    with pytest.raises(Conflict):
        report_step(cluster, operation.id, operation.fence, "install", 0.4)
    with pytest.raises(Conflict):
        finish_install(cluster, operation.id, operation.fence, BUILT)
    shown = read(cluster, manager, made.id)
    assert shown.state is EnvironmentState.FAILED and shown.operation is not None
    assert (shown.operation.state, shown.operation.error_code) == (
        OperationState.FAILED,
        "environment.cancelled",
    )
    with pytest.raises(Conflict, match="not_being_built"):
        environment_builds.cancel_build(cluster, manager, made.id)
    assert environment_builds.rebuild_environment(cluster, manager, made.id).id != operation.id


def test_a_failed_build_is_tried_again_as_an_operation(cluster: Cluster, lab: Lab) -> None:
    manager = actor_of(lab.manager)
    made = environment_requests.add_environment(cluster, manager, request(lab))
    operation = claim(cluster, made)
    fail_build(cluster, operation.id, operation.fence, "environment.no_network", {})
    assert read(cluster, manager, made.id).state is EnvironmentState.FAILED
    retry_operation(cluster, manager, operation.id)
    assert read(cluster, manager, made.id).state is EnvironmentState.BUILDING


def test_nothing_is_built_for_a_workspace_that_stores_what_it_may(cluster: Cluster, lab: Lab) -> None:
    manager = actor_of(lab.manager)
    made = environment_requests.add_environment(cluster, manager, request(lab))
    environment_builds.cancel_build(cluster, manager, made.id)
    with cluster.store.write() as session:
        workspace = session.get_one(Workspace, lab.workspace.id)
        workspace.storage_limit_bytes = workspace.storage_used_bytes = 2**20
    for build in (
        lambda: environment_requests.add_environment(cluster, manager, request(lab, name="torch-2.8")),
        lambda: environment_builds.rebuild_environment(cluster, manager, made.id),
    ):
        with pytest.raises(Refused) as refused:
            build()
        assert (refused.value.field, refused.value.code) == ("workspaces", "storage.over_limit")
        assert refused.value.data["limit"] == 2**20
