"""Two who change the same rows at the same moment: neither waits for ever, neither undoes the other's work."""

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import EnvironmentState, JobState, Launcher, OperationState, TrainingKind
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.jobs import attempts
from cluster.services.leases import acquire_lease
from cluster.services.operations import lifecycle
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.placement import capacity, snapshot
from cluster.services.queue import holds_and_moves
from cluster.services.queue.dispatch import place_waiting_jobs, plan_dispatch, record_waiting_reasons
from cluster.services.storage import folders
from cluster.services.sweeps import queries, stops, submission
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion
from tests.builders import a_dataset, a_job, a_node, a_training, a_workspace, actor_of, add, an_administrator
from tests.simultaneous_calls import at_once

on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
"""SQLite lets one write after the other."""
PATIENCE_SECONDS = 60


def as_environment(cluster: Cluster) -> None:
    row = Environment(name="default", digest="d", state=EnvironmentState.READY, created_at=cluster.clock())
    add(cluster, row, InstallationFact(name="default_environment", value={"digest": "d"}))


def wait_until_somebody_waits(cluster: Cluster) -> None:
    query = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with cluster.store.read() as session:
            if session.scalar(query):
                return
        assert time.monotonic() < deadline, "nobody came to wait for a lock"
        time.sleep(0.01)


@on_postgresql
def test_a_sweep_is_stopped_by_hand_while_one_of_its_jobs_crashes(cluster: Cluster) -> None:
    as_environment(cluster)
    a_node(cluster, 4)
    person = actor_of(an_administrator(cluster))
    workspace = a_workspace(cluster, units=4)
    training = a_training(cluster, workspace)
    job = JobRequest("lenet", 1, Launcher.HOROVOD, dataset_id=a_dataset(cluster, workspace).id)
    wanted = SweepRequest(job, {"seed": "1..3"}, stop_on_trouble=True)
    sweep = submission.submit_sweep(cluster, person, training.id, wanted)
    held = acquire_lease(cluster, "scheduler", "one", timedelta(seconds=10))
    assert held and place_waiting_jobs(cluster, held)
    stopped: list[object] = []
    by_hand = threading.Thread(
        target=lambda: stopped.append(at_once(lambda: stops.stop_sweep(cluster, person, sweep.id))[0])
    )
    with cluster.store.write() as session:
        attempt = attempts.load_current_attempt(session, session.scalars(select(Attempt.id)).first() or 0)
        assert attempt is not None
        by_hand.start()
        wait_until_somebody_waits(cluster)
        crash = AttemptOutcome(JobState.FAILED, "exit.error", {"exit_code": 1}, 1)
        attempts.mark_sweep_on_failure(session, attempt.job, crash, cluster.clock())
    by_hand.join(PATIENCE_SECONDS)
    assert stopped == [3]
    assert queries.read_sweep(cluster, person, sweep.id).stop_code == "sweep.crash", "the first cause counts"


@on_postgresql
def test_a_job_that_is_held_meanwhile_gets_no_other_reason(cluster: Cluster) -> None:
    as_environment(cluster)
    a_node(cluster, 1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    job = a_job(cluster, training, units=2)
    person = actor_of(an_administrator(cluster))
    with cluster.store.write() as session:
        look = plan_dispatch(cluster, session)
        assert [one.job_id for one in look.reasons] == [job.id]
        holds_and_moves.hold_job(cluster, person, job.id)
        assert record_waiting_reasons(session, look, cluster.clock()) == []
    with cluster.store.read() as session:
        assert session.get_one(Job, job.id).waiting_code == "waiting.on_hold"


def test_code_that_comes_twice_at_once_becomes_two_versions(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    training = a_training(cluster, workspace, kind=TrainingKind.ADVANCED, code_version=0)
    person = actor_of(an_administrator(cluster))

    def upload(number: int) -> CodeVersion:
        code = [(f"{name}.py", b"%d" % number) for name in ("a", "b", "c", "d")]
        return trainings.upload_code(cluster, person, training.id, code)

    made = at_once(*(lambda number=number: upload(number) for number in range(4)))
    assert sorted(one.number for one in made if isinstance(one, CodeVersion)) == [1, 2, 3, 4], made
    for version in range(1, 5):
        folder = folders.code_folder(cluster.settings, workspace.id, training.id, version)
        assert len({path.read_bytes() for path in folder.iterdir()}) == 1


def test_a_repeated_sweep_is_answered_also_when_it_could_not_be_made_any_more(cluster: Cluster) -> None:
    a_node(cluster, 4)
    person = actor_of(an_administrator(cluster))
    workspace = a_workspace(cluster, units=4)
    training = a_training(cluster, workspace)
    job = JobRequest("lenet", 1, Launcher.HOROVOD, dataset_id=a_dataset(cluster, workspace).id)
    request = SweepRequest(job, {"seed": "1..3"})
    first = submission.submit_sweep(cluster, person, training.id, request, ("key", "hash"))
    with cluster.store.write() as session:
        session.get_one(type(workspace), workspace.id).ended_at = cluster.clock()
    again = submission.submit_sweep(cluster, person, training.id, request, ("key", "hash"))
    assert again.id == first.id


@on_postgresql
def test_a_workspace_that_is_made_while_somebody_looks_is_seen_by_the_next_look(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_environment(cluster)
    a_node(cluster, 2)
    first = a_job(cluster, a_training(cluster, a_workspace(cluster)))
    read = capacity.read_placement_context

    def and_a_workspace_is_made(*asked: Any) -> capacity.PlacementContext:
        ground = read(*asked)
        a_job(cluster, a_training(cluster, a_workspace(cluster)))
        return ground

    monkeypatch.setattr(capacity, "read_placement_context", and_a_workspace_is_made)
    with cluster.store.read() as session:
        assert list(snapshot.read_placement_snapshot(cluster, session).jobs) == [first.id]


@on_postgresql
def test_an_operation_that_ends_while_it_is_swept_is_not_begun_anew(cluster: Cluster) -> None:
    person = actor_of(an_administrator(cluster))
    environment = environments.ensure_default_environment(cluster, person, "d1", "/e")
    number = environment.operation_id or 0
    held = lifecycle.claim_operation(cluster, number, "a slow one")
    assert held is not None
    cluster.clock.now += lifecycle.CLAIM_LASTS + timedelta(seconds=1)  # type: ignore[attr-defined]
    sweep = threading.Thread(target=lambda: requeue_stale_operations(cluster))
    with cluster.store.write() as session:
        lifecycle.finish_operation(session, number, held.fence, cluster.clock())
        session.flush()
        sweep.start()
        wait_until_somebody_waits(cluster)
    sweep.join(PATIENCE_SECONDS)
    with cluster.store.read() as session:
        assert session.get_one(Operation, number).state is OperationState.FINISHED
