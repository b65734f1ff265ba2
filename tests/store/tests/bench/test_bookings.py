"""The floor of a decision writes the rows that the product writes."""

from typing import Any

from sqlalchemy import select

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Attempt, Job, JobEvent
from cluster.store.nodes import Allocation
from cluster.store.workspaces import Workspace
from tests.bench.bulk_rows import a_line_of_workspaces, fill
from tests.bench.floors.bookings import DriverDesk
from tests.builders import a_node, an_administrator


def rows_of(cluster: Cluster, workspace_id: int) -> list[Any]:
    """What one booking leaves, without ids and moments."""
    with cluster.store.read() as session:
        job = session.scalars(select(Job).where(Job.workspace_id == workspace_id)).one()
        attempt = session.scalars(select(Attempt).where(Attempt.job_id == job.id)).one()
        units = session.scalars(select(Allocation).where(Allocation.attempt_id == attempt.id)).all()
        lines = session.scalars(select(JobEvent).where(JobEvent.job_id == job.id).order_by(JobEvent.id)).all()
        turn = session.get_one(Workspace, workspace_id).last_turn_attempt_id
        told = [(line.state, line.code) for line in lines]
        moments = (job.dispatched_at is not None, attempt.created_at is not None)
        return [
            job.state,
            job.fence,
            attempt.state,
            attempt.number,
            len(units),
            told,
            turn == attempt.id,
            moments,
        ]


def test_a_booking_by_the_driver_leaves_the_rows_of_a_decision(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, units=2)
    lines = a_line_of_workspaces(cluster, an_administrator(cluster), 2)
    fill(cluster, lines[:1], 1, units=1)
    place_waiting_jobs(cluster, held, is_rung=True, has_freed=True)
    fill(cluster, lines[1:], 1, units=1)
    driver = DriverDesk(cluster)
    assert driver.book(held.holder) > 0 and driver.commit_one_row() > 0
    driver.kept.close()
    with cluster.store.read() as session:
        ours, floor = session.scalars(select(Job.workspace_id).order_by(Job.id))
    assert rows_of(cluster, floor) == rows_of(cluster, ours)
