"""The queue as people see it: who waits in the true order and why, who runs and until when."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from cluster.domain.people import Actor
from cluster.domain.placement import NodeUnits, Waiting
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import LOADS, attempts_and_events
from cluster.services.placing import read_board
from cluster.store.jobs import Attempt, Job
from cluster.store.visibility import sees_job


@dataclass(frozen=True)
class WaitingJob:
    """`job` is None where the reader may not see it: it still stands in the line."""

    number: int
    job: Job | None
    units: int
    decision: Waiting | None
    """None: its turn has come, and the scheduler is about to start it."""


@dataclass(frozen=True)
class RunningJob:
    job: Job | None
    units: int
    node: str
    started_at: datetime | None
    ends_at: datetime | None


@dataclass(frozen=True)
class QueueView:
    waiting: list[WaitingJob]
    running: list[RunningJob]
    nodes: list[NodeUnits]


def read_queue(cluster: Cluster, actor: Actor) -> QueueView:
    """Everything that waits or runs; foreign jobs keep their place and size, nothing else."""
    with cluster.store.read() as session:
        board = read_board(cluster, session, at_least=50)
        living = [JobState.WAITING, JobState.STARTING, JobState.RUNNING, JobState.STOPPING]
        query = (
            select(Job).where(Job.state.in_(living), sees_job(actor)).options(*LOADS, *attempts_and_events())
        )
        seen = {job.id: job for job in session.scalars(query)}
        running = session.scalars(
            select(Attempt)
            .where(Attempt.ended_at.is_(None))
            .options(selectinload(Attempt.job), selectinload(Attempt.node))
        ).all()
    units = {head.job_id: head.units for head in board.heads}
    decisions = board.decide()
    ends = {run.job_id: run.ends_at for run in board.running}
    return QueueView(
        [
            WaitingJob(
                number,
                seen.get(decision.job_id),
                units[decision.job_id],
                decision if isinstance(decision, Waiting) else None,
            )
            for number, decision in enumerate(decisions, start=1)
        ],
        sorted(
            (
                RunningJob(
                    seen.get(attempt.job_id),
                    attempt.job.units,
                    attempt.node.name,
                    attempt.started_at,
                    ends.get(attempt.job_id),
                )
                for attempt in running
            ),
            key=soonest_end,
        ),
        list(board.nodes),
    )


def soonest_end(run: RunningJob) -> tuple[bool, float]:
    """Known ends first, then the longest running."""
    moment = run.ends_at or run.started_at
    return run.ends_at is None, moment.timestamp() if moment else 0.0
