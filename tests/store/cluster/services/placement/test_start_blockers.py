"""Jobs wait for other things than units: each has its reason."""

from dataclasses import replace

import pytest

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import (
    DatasetState,
)
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.jobs import preview
from cluster.services.operations import lifecycle
from cluster.services.queue.queries import read_queue
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
)
from tests.conftest import Clock
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def test_a_job_waits_for_the_environment_and_for_its_data(cluster: Cluster) -> None:
    manager = a_user(cluster)
    a_node(cluster, 2)
    workspace = a_workspace(cluster, manager)
    training = a_training(cluster, workspace)
    preparing = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    request = JobRequest(name="one", units=1, dataset_id=preparing.id)

    def reason() -> str | None:
        found = preview.preview_submission(cluster, actor_of(manager), training.id, request).reason
        return found.code if found else None

    assert reason() == "waiting.dataset_not_ready"
    request = replace(request, dataset_id=a_dataset(cluster, workspace).id)
    assert reason() == "waiting.environment_not_ready"
    environment = environments.ensure_default_environment(cluster, actor_of(manager), "d", "/e")
    assert reason() == "waiting.environment_not_ready"
    assert environment.operation_id is not None
    operation = lifecycle.claim_operation(cluster, environment.operation_id, "a worker")
    assert operation is not None
    environments.fail_build(cluster, operation.id, operation.fence, "environment.no_network", {})
    assert reason() == "waiting.environment_failed"


def test_jobs_of_a_workspace_outside_its_term_say_so(cluster: Cluster, lab: Lab, clock: Clock) -> None:
    a_job(cluster, lab.training, lab.member)
    clock.move(days=60)
    assert read_queue(cluster, lab.actor).waiting[0].explanation.code == "waiting.workspace_expired"
    clock.move(days=-61)
    assert read_queue(cluster, lab.actor).waiting[0].explanation.code == "waiting.workspace_not_started"
