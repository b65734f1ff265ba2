"""Attempts that still hold units are listed with the state of their nodes."""

from datetime import timedelta

from sqlalchemy import select

from cluster.domain.jobs.attempts import NodeFate
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.jobs.live_attempts import list_live_attempts
from cluster.services.leases import HeldLease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node
from tests.builders import a_job, a_node, a_training, a_workspace, add
from tests.conftest import Clock


def a_run(cluster: Cluster, held: HeldLease, job: Job) -> int:
    (attempt_id,) = place_waiting_jobs(cluster, held)
    attempts.record_starting(cluster, held, {attempt_id: None})
    attempts.record_running(cluster, held, {attempt_id: {"pid": 7}})
    return attempt_id


def a_job_with_tries(cluster: Cluster, retries: int, **columns: object) -> Job:
    a_node(cluster, units=2)
    return a_job(cluster, a_training(cluster, a_workspace(cluster)), retries=retries, **columns)


def test_living_attempts_know_the_fate_of_their_nodes(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    job = a_job_with_tries(cluster, retries=3, grace_seconds=77)
    a_run(cluster, held, job)
    (living,) = list_live_attempts(cluster)
    assert (living.node_fate, living.nodes, living.retries_left, living.grace_seconds) == (
        NodeFate.SAME_BOOT,
        1,
        3,
        77,
    )
    clock.move(seconds=21)
    assert list_live_attempts(cluster)[0].node_fate is NodeFate.UNREACHABLE
    with cluster.store.write() as session:
        node = session.scalars(select(Node)).one()
        node.lost_at, name = clock.now, node.name
    assert (list_live_attempts(cluster)[0].node_fate, list_live_attempts(cluster)[0].fate_node) == (
        NodeFate.LOST,
        name,
    )


def test_a_gang_shares_the_fate_of_its_worst_node(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    first, second = a_node(cluster, 1), a_node(cluster, 1)
    training = a_training(cluster, a_workspace(cluster))
    job = a_job(cluster, training, units=2, state=JobState.RUNNING, fence=1)
    units = [*first.units, *second.units]
    allocations = [Allocation(unit_id=unit.id, begun_at=clock.now) for unit in units]
    add(
        cluster,
        Attempt(job_id=job.id, number=1, node_id=first.id, created_at=clock.now, allocations=allocations),
    )
    with cluster.store.write() as session:
        session.get_one(Node, second.id).booted_at = clock.now + timedelta(seconds=1)
    (living,) = list_live_attempts(cluster)
    assert (living.nodes, living.node_fate, living.fate_node) == (2, NodeFate.REBOOTED, second.name)
