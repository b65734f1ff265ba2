"""Jobs wait for other things than units: each has its reason."""

from dataclasses import replace
from datetime import date

import pytest

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.queue.reasons import (
    DatasetFailed,
    DatasetNotReady,
    DiskBelowReserve,
    EnvironmentNotReady,
    SweepLimitReached,
    WaitingReason,
    WorkspaceExpired,
)
from cluster.domain.states import DatasetState, JobState
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import lifecycle
from cluster.services.placement.start_blockers import (
    StartBlockers,
    dataset_reason,
    find_sweep_limited,
    read_dataset_reasons,
    read_slots_within,
    read_sweep_slots,
)
from cluster.services.queue import submission_preview
from cluster.services.queue.queries import read_queue
from cluster.store.jobs import Sweep
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    add,
)
from tests.conftest import Clock
from tests.queue_reports import report_queue
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
        found = submission_preview.preview_submission(
            cluster, actor_of(manager), training.id, request
        ).explanation
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
    report_queue(cluster)
    assert read_queue(cluster, lab.actor).waiting[0].explanation.code == "waiting.workspace_expired"
    clock.move(days=-61)
    report_queue(cluster)
    assert read_queue(cluster, lab.actor).waiting[0].explanation.code == "waiting.workspace_not_started"


TERM, DATA, ENVIRONMENT, DISK = (
    WorkspaceExpired("speech", date(2026, 11, 1)),
    DatasetFailed("digits"),
    EnvironmentNotReady("default"),
    DiskBelowReserve("/state", 1, 2),
)


@pytest.mark.parametrize(
    ("blockers", "reason"),
    [
        (StartBlockers({7: TERM}, {5: DATA}, ENVIRONMENT, DISK), TERM),
        (StartBlockers({8: TERM}, {5: DATA}, ENVIRONMENT, DISK), DATA),
        (StartBlockers({}, {6: DATA}, ENVIRONMENT, DISK), ENVIRONMENT),
        (StartBlockers({}, {}, None, DISK), DISK),
        (StartBlockers({}, {}, None), None),
    ],
)
def test_a_job_has_the_first_reason_that_applies(
    blockers: StartBlockers, reason: WaitingReason | None
) -> None:
    assert blockers.reason_for(7, 5) is reason


def test_a_sweep_has_so_many_slots_as_its_jobs_leave(cluster: Cluster, lab: Lab) -> None:
    limited, free = a_sweep(cluster, lab, most_at_once=2), a_sweep(cluster, lab, most_at_once=None)
    states = (JobState.RUNNING, JobState.WAITING, JobState.WAITING)
    jobs = [a_job(cluster, lab.training, state=state, sweep_id=limited.id) for state in states]
    other = a_job(cluster, lab.training, sweep_id=free.id)
    waiting = [*jobs[1:], other]
    with cluster.store.read() as session:
        assert read_sweep_slots(session, [limited.id, free.id]) == {limited.id: (2, 1)}
        assert read_slots_within(session, {limited.id: 9}) == {limited.id: (9, 8)}
        assert read_sweep_slots(session, []) == {}
        assert find_sweep_limited(session, waiting) == {jobs[2].id: SweepLimitReached(limited.id, 2)}


def a_sweep(cluster: Cluster, lab: Lab, most_at_once: int | None) -> Sweep:
    sweep = Sweep(
        workspace_id=lab.workspace.id,
        training_id=lab.training.id,
        user_id=lab.member.id,
        name="modes",
        plan={},
        jobs=3,
        most_at_once=most_at_once,
        stop_on_trouble=False,
        submitted_at=cluster.clock(),
    )
    add(cluster, sweep)
    return sweep


def test_only_datasets_that_are_not_ready_are_in_the_way(cluster: Cluster, lab: Lab) -> None:
    states = (DatasetState.READY, DatasetState.PREPARING, DatasetState.FAILED)
    ready, late, failed = (a_dataset(cluster, lab.workspace, state=state) for state in states)
    with cluster.store.read() as session:
        found = read_dataset_reasons(session, [ready.id, late.id, failed.id])
        assert found == {late.id: DatasetNotReady(late.name, 0.0), failed.id: DatasetFailed(failed.name)}
        assert read_dataset_reasons(session, []) == {}
        assert dataset_reason(session, None) is None
