"""Stops sweeps of which one job failed or its loss became NaN.

The transaction that records a job's end only marks the sweep, because it has locked the job already. The scheduler
stops the other jobs in a transaction of its own, under the lock under which jobs are placed.
"""

from dataclasses import dataclass

from sqlalchemy import select

from cluster.services.context import Cluster
from cluster.services.jobs import attempts, events
from cluster.services.leases import HeldLease, check_lease
from cluster.services.sweeps.stops import stop_remaining_jobs
from cluster.store.jobs import Attempt, Job, Sweep


@dataclass(frozen=True)
class LossWatch:
    """A running job whose sweep stops when a loss becomes NaN."""

    job_id: int
    workspace_id: int
    attempt: int


LOSS_WATCHES = (
    select(Job.id, Job.workspace_id, Attempt.number)
    .join(Attempt, Attempt.job_id == Job.id)
    .join(Sweep, Sweep.id == Job.sweep_id)
    .where(Attempt.ended_at.is_(None), Sweep.stop_on_trouble, Sweep.stopped_at.is_(None))
)
MARKED = select(Sweep).where(Sweep.stopping).order_by(Sweep.id)
FIRST_MARKED = select(Sweep.id).where(Sweep.stopping).limit(1)
"""The statements are built once, because every pass of the scheduler runs them."""


def list_loss_watches(cluster: Cluster) -> list[LossWatch]:
    """Lists the live attempts of sweeps that stop at the first failure or NaN."""
    with cluster.store.read() as session:
        return [LossWatch(*row) for row in session.execute(LOSS_WATCHES)]


def record_nan_loss(cluster: Cluster, held: HeldLease, job_id: int) -> bool:
    """Marks the sweep of a running job whose loss became NaN or infinite. Raises LeaseLost."""
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        sweep_id = session.scalar(select(Job.sweep_id).where(Job.id == job_id))
        return sweep_id is not None and attempts.mark_sweep_stopped(
            session, sweep_id, now, "sweep.nan", {"job_id": job_id}
        )


def stop_marked_sweeps(cluster: Cluster, held: HeldLease) -> int:
    """Stops the live jobs of marked sweeps and returns their number. Reads without a lock first. Raises LeaseLost."""
    with cluster.store.read() as session:
        if session.scalar(FIRST_MARKED) is None:
            return 0
    with cluster.store.write(lock="placement") as session:
        check_lease(session, held)
        stopped = sum(
            stop_remaining_jobs(session, sweep, cluster.clock()) for sweep in session.scalars(MARKED)
        )
    events.publish_all_jobs(cluster)
    return stopped
