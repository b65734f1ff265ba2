"""A waiting job is told how many are ahead and what it waits for, as the scheduler last wrote it."""

from sqlalchemy import delete, insert, select, update

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.reasons import AheadInQueue
from cluster.domain.queue.start_estimate import StartEstimate
from cluster.domain.states import DatasetState, DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.queue import queries as queue
from cluster.services.queue.totals import refresh_queue_totals
from cluster.services.queue.waiting_explanations import JobsAhead, count_ahead
from cluster.store.jobs import Job
from cluster.store.queue import QueueExplanation
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
from tests.queue_reports import report_queue
from tests.store.conftest import job_of


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
    report_queue(cluster)
    places = (0, 49, 50, 1000, 1002)
    at_once = queue.read_waiting_explanations(cluster, [waiting[place] for place in places])
    told = {place: queue.read_waiting_explanation(cluster, waiting[place]) for place in places}
    assert told == {place: at_once[waiting[place].id] for place in places}
    assert told[0].code == "waiting.quota_used"
    assert (told[49].data["ahead"], told[49].starts_at is not None) == (49, True)
    assert (told[50].data["ahead"], told[50].data["source"]) == (50, "totals")
    assert (told[1000].data["ahead"], "is_more_ahead" in told[1000].data) == (1000, False)
    assert (told[1002].data["ahead"], told[1002].data["is_more_ahead"]) == (1000, True)
    starts = [told[49].starts_at, told[1002].earliest_at, told[1002].latest_at]
    assert [start for start in starts if start] == sorted(start for start in starts if start)
    assert all(starts)
    counts = {one.code: (one.count, one.is_more) for one in queue.read_queue_summary(cluster).counts}
    assert counts == {"waiting.ahead_in_queue": (1000, True), "waiting.quota_used": (1, False)}


def test_who_stands_behind_jobs_without_data_alone_is_the_front(cluster: Cluster, held: HeldLease) -> None:
    node = a_node(cluster, 1)
    workspace = a_workspace(cluster, units=2)
    training = a_training(cluster, workspace)
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), node.units)
    preparing = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    for _ in range(3):
        a_job(cluster, training, dataset_id=preparing.id)
    front, behind = a_job(cluster, training), a_job(cluster, training)
    report_queue(cluster)
    told = queue.read_waiting_explanations(cluster, [front, behind])
    assert told[front.id].code == "waiting.not_enough_units"
    assert (told[behind.id].code, told[behind.id].data["first_ahead"], told[behind.id].data["ahead"]) == (
        "waiting.ahead_in_queue",
        front.id,
        4,
    )


def test_a_job_that_no_pass_has_seen_says_so(cluster: Cluster, held: HeldLease) -> None:
    """Behind others its place is known at once."""
    a_node(cluster, 1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    first = a_job(cluster, training)
    assert queue.read_waiting_explanation(cluster, first) == WaitingExplanation("waiting.submitted", {})
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), a_node(cluster, 1).units)
    report_queue(cluster)
    assert queue.read_waiting_explanation(cluster, first).code == "waiting.quota_used"
    second = a_job(cluster, training)
    told = queue.read_waiting_explanation(cluster, second)
    assert told == WaitingExplanation.of(
        AheadInQueue(1, first.id), StartEstimate(ahead=1, first_ahead=first.id)
    )


def test_what_was_written_before_an_attempt_is_not_said_after_it(cluster: Cluster, held: HeldLease) -> None:
    node = a_node(cluster, 1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), node.units)
    job = a_job(cluster, training)
    report_queue(cluster)
    interrupted = {"cause": "interrupted.shim_lost", "attempt": 1, "node": node.name}
    with cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.fence, row.waiting_code, row.waiting_data = 1, "waiting.interrupted", interrupted
    job = job_of(cluster, job)
    assert queue.read_waiting_explanation(cluster, job) == WaitingExplanation(
        "waiting.interrupted", interrupted
    )


def test_jobs_ahead_are_counted_for_a_page_in_one_statement(cluster: Cluster) -> None:
    lines = [a_training(cluster, a_workspace(cluster)) for _ in range(2)]
    jobs = [[a_job(cluster, training) for _ in range(4)] for training in lines]
    a_job(cluster, lines[0], held_at=cluster.clock(), priority=9)
    with cluster.store.read() as session:
        found = count_ahead(session, [jobs[1][3].id, jobs[0][0].id, jobs[0][2].id, jobs[0][3].id])
        front = jobs[0][1].id
        behind = count_ahead(session, [jobs[0][0].id, jobs[0][3].id], {front})
    assert found == {
        jobs[0][0].id: JobsAhead(0, None),
        jobs[0][2].id: JobsAhead(2, jobs[0][0].id),
        jobs[0][3].id: JobsAhead(3, jobs[0][0].id),
        jobs[1][3].id: JobsAhead(3, jobs[1][0].id),
    }
    assert (behind[jobs[0][0].id], behind[jobs[0][3].id]) == (JobsAhead(0, None), JobsAhead(3, front))


def test_nobody_waits_behind_itself_or_behind_who_is_gone(cluster: Cluster, held: HeldLease) -> None:
    """What the scheduler wrote is a moment old: the front was overtaken, then it started."""
    node = a_node(cluster, 1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), node.units)
    front = a_job(cluster, training)
    report_queue(cluster)
    with cluster.store.write() as session:
        session.execute(delete(QueueExplanation))
    fast, last = a_job(cluster, training, priority=9), a_job(cluster, training, priority=-9)
    told = queue.read_waiting_explanations(cluster, [front, fast, last])
    assert told[fast.id].code == "waiting.submitted"
    assert (told[front.id].ahead, told[front.id].data["job_id"]) == (1, fast.id)
    assert (told[last.id].ahead, told[last.id].data["job_id"]) == (2, front.id)
    with cluster.store.write() as session:
        session.get_one(Job, front.id).state = JobState.STARTING
    told = queue.read_waiting_explanations(cluster, [last])
    assert (told[last.id].ahead, told[last.id].data["job_id"]) == (1, fast.id)
