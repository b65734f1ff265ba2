"""What a pass says of the queue is written where it differs from what is written."""

from datetime import timedelta

from sqlalchemy import select, update

from cluster.domain.queue.overview import FreeBlock
from cluster.domain.states import DatasetState, JobState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.queue.written_queue import read_queue_overview, read_written_queue
from cluster.store.jobs import Job
from cluster.store.queue import QueueExplanation
from tests.builders import a_dataset, a_job, a_node, a_training, a_workspace, holding
from tests.conftest import RecordingBell
from tests.queue_reports import report_queue


def test_only_what_differs_is_written_and_published(
    cluster: Cluster, held: HeldLease, bell: RecordingBell
) -> None:
    node = a_node(cluster, 1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING, time_limit_seconds=600), node.units)
    jobs = [a_job(cluster, training, time_limit_seconds=60) for _ in range(3)]
    report_queue(cluster)
    with cluster.store.write() as session:
        session.execute(update(QueueExplanation).values(written_at=cluster.clock() - timedelta(days=1)))
    bell.rung.clear()
    report_queue(cluster)
    assert bell.rung == []
    with cluster.store.write() as session:
        session.get_one(Job, jobs[0].id).state = JobState.STOPPED
        session.get_one(Job, jobs[0].id).ended_at = cluster.clock()
    report_queue(cluster)
    assert bell.rung == [("queue", 0)]
    with cluster.store.read() as session:
        written = {row.job_id: row.written_at for row in session.scalars(select(QueueExplanation))}
    assert written == dict.fromkeys([jobs[1].id, jobs[2].id], cluster.clock())


def test_the_head_of_a_line_is_the_first_job_that_nothing_of_its_own_keeps(
    cluster: Cluster, held: HeldLease
) -> None:
    node = a_node(cluster, 1)
    workspace = a_workspace(cluster, units=1)
    training = a_training(cluster, workspace)
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), node.units)
    late = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    kept = a_job(cluster, training, dataset_id=late.id, priority=5)
    head = a_job(cluster, training)
    report_queue(cluster)
    written = read_written_queue(cluster)
    assert written.overview.fronts == {workspace.id: head.id}
    assert (kept.id in written.jobs, head.id in written.jobs) == (False, True)


def test_the_largest_free_block_is_known_also_while_nothing_waits(cluster: Cluster, held: HeldLease) -> None:
    training = a_training(cluster, a_workspace(cluster, units=9))
    small, large = a_node(cluster, 2, name="small"), a_node(cluster, 5, name="large")
    report_queue(cluster)
    assert read_queue_overview(cluster).largest_free_block == FreeBlock(5, "large")
    holding(cluster, a_job(cluster, training, units=4, state=JobState.RUNNING), large.units[:4])
    report_queue(cluster)
    assert read_queue_overview(cluster).largest_free_block == FreeBlock(2, "small")
    holding(
        cluster, a_job(cluster, training, units=3, state=JobState.RUNNING), [*small.units, large.units[4]]
    )
    report_queue(cluster)
    assert read_queue_overview(cluster).largest_free_block is None
