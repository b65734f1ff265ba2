"""A waiting job is told how many are ahead and what it waits for."""

from sqlalchemy import insert, select, update

from cluster.domain.queue.reasons import AheadInQueue, to_waiting_data
from cluster.domain.queue.start_estimate import StartEstimate
from cluster.domain.states import DatasetState, DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.queue import queries as queue
from cluster.services.queue.totals import refresh_queue_totals
from cluster.services.queue.waiting_explanations import WaitingExplanation, read_queue_snapshot
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_workspace,
    first_positions,
    holding,
)


def many(cluster: Cluster, training: Training, count: int, **columns: object) -> None:
    """Waiting jobs in one statement."""
    row = {
        "workspace_id": training.workspace_id, "training_id": training.id, "user_id": training.owner_id,
        "name": "many", "state": JobState.WAITING, "desired": DesiredState.RUN, "units": 1, "priority": 0,
        "launcher": Launcher.PLAIN, "command": [], "variables": {}, "submitted_at": cluster.clock(),
    }  # fmt: skip
    with cluster.store.write() as session:
        session.execute(insert(Job), [row | columns for _ in range(count)])
        session.execute(update(Job).where(Job.position == 0).values(position=first_positions()))


def test_who_is_ahead_is_exact_to_a_thousand(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 1)
    workspace = a_workspace(cluster, units=1)
    training = a_training(cluster, workspace)
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING, time_limit_seconds=600),
            a_node(cluster, 1).units)  # fmt: skip
    many(cluster, training, 1003, time_limit_seconds=60)
    with cluster.store.read() as session:
        waiting = session.scalars(select(Job).where(Job.state == JobState.WAITING).order_by(Job.id)).all()
    refresh_queue_totals(cluster, held)
    told = {
        place: queue.read_waiting_explanation(cluster, waiting[place])[0]
        for place in (0, 199, 200, 1000, 1002)
    }
    assert told[0].code == "waiting.quota_used"
    assert (told[199].estimate.ahead, told[199].estimate.starts_at is not None) == (199, True)
    assert (told[200].estimate.ahead, told[200].estimate.source) == (200, "totals")
    assert (told[1000].estimate.ahead, told[1000].estimate.is_more_ahead) == (1000, False)
    assert (told[1002].estimate.ahead, told[1002].estimate.is_more_ahead) == (1000, True)
    assert told[1002].estimate.earliest_at and told[1002].estimate.latest_at
    assert told[199].estimate.starts_at < told[1002].estimate.earliest_at < told[1002].estimate.latest_at
    counts = {one.code: (one.count, one.is_more) for one in queue.read_queue_summary(cluster, []).counts}
    assert counts == {"waiting.ahead_in_queue": (1000, True), "waiting.quota_used": (1, False)}


def test_who_stands_behind_jobs_without_data_alone_is_the_front_in_lists_too(
    cluster: Cluster, held: HeldLease
) -> None:
    node = a_node(cluster, 1)
    workspace = a_workspace(cluster, units=2)
    training = a_training(cluster, workspace)
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), node.units)
    preparing = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    for _ in range(3):
        a_job(cluster, training, dataset_id=preparing.id)
    front, behind = a_job(cluster, training), a_job(cluster, training)
    told = queue.read_waiting_explanations(cluster, [front, behind])
    assert told[front.id].code == "waiting.not_enough_units"
    assert (told[behind.id].code, told[behind.id].estimate.first_ahead) == (
        "waiting.ahead_in_queue",
        front.id,
    )


def test_a_job_whose_turn_has_come_waits_for_nothing() -> None:
    explanation = WaitingExplanation(None)
    assert (explanation.code, explanation.data) == (None, {})


def test_an_explanation_is_the_reason_with_the_estimate() -> None:
    explanation = WaitingExplanation(AheadInQueue(3, 1055), StartEstimate(ahead=3))
    assert explanation.code == AheadInQueue.code
    assert explanation.data == to_waiting_data(AheadInQueue(3, 1055), StartEstimate(ahead=3))


def test_the_head_of_a_line_is_the_first_job_that_nothing_of_its_own_keeps(
    cluster: Cluster, held: HeldLease
) -> None:
    a_node(cluster, 1)
    workspace = a_workspace(cluster, units=1)
    training = a_training(cluster, workspace)
    late = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    kept = a_job(cluster, training, dataset_id=late.id, priority=5)
    head = a_job(cluster, training)
    with cluster.store.read() as session:
        snapshot = read_queue_snapshot(cluster, session)
    assert snapshot.first_jobs == {workspace.id: kept.id}
    assert snapshot.heads == {workspace.id: head.id}
    assert snapshot.blocked == {kept.id}
