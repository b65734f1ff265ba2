"""Lists running jobs for the queue page: expected end, progress and nodes."""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.services.jobs.queries import filter_ids_of_user, load_jobs_and_visible
from cluster.services.placement.snapshot import PlacementSnapshot
from cluster.store.jobs import Attempt, Job

RunningCursor = tuple[int, int]
NO_KNOWN_END = 1 << 62


@dataclass(frozen=True)
class RunningJob:
    """`share_done` of its way is done, 0 to 1, as it says itself; None where it does not.

    `job` is None where the reader may not see it.
    """

    id: int
    job: Job | None
    units: int
    nodes: tuple[str, ...]
    started_at: datetime | None
    ends_at: datetime | None
    share_done: float | None = None


def read_running_jobs(
    session: Session,
    actor: Actor,
    board: PlacementSnapshot,
    limit: int,
    workspace_id: int | None = None,
    user_id: int | None = None,
    after: RunningCursor | None = None,
) -> tuple[list[RunningJob], RunningCursor | None]:
    """The soonest known ends first, from behind `after`, also where that job has ended; where the next page begins."""
    units: Counter[int] = Counter()
    for run in board.running:
        if workspace_id in (None, run.workspace_id):
            units[run.job_id] += run.units
    ends = {run.job_id: run.ends_at for run in board.running}
    mine = units if user_id is None else filter_ids_of_user(session, actor, units, user_id)
    order = sorted(running_cursor(ends[job_id], job_id) for job_id in mine)
    begin = bisect_right(order, after) if after else 0
    shown = [job_id for _, job_id in order[begin : begin + limit]]
    _rows, seen = load_jobs_and_visible(session, actor, shown)
    nodes, told = running_node_names(board, shown), read_starts_and_progress(session, shown)
    runs = [
        RunningJob(job_id, seen.get(job_id), units[job_id], nodes[job_id], began, ends[job_id], part)
        for job_id, (began, part) in ((job_id, told.get(job_id, (None, None))) for job_id in shown)
    ]
    return runs, order[begin + len(shown) - 1] if len(order) > begin + len(shown) > 0 else None


def running_cursor(ends_at: datetime | None, job_id: int) -> RunningCursor:
    """Where it stands on the list: its end in milliseconds; those without one come last."""
    return (NO_KNOWN_END if ends_at is None else int(ends_at.timestamp() * 1000), job_id)


def running_node_names(board: PlacementSnapshot, job_ids: list[int]) -> dict[int, tuple[str, ...]]:
    names = {node.node_id: node.name for node in board.nodes}
    return {
        job_id: tuple(names[run.node_id] for run in board.running if run.job_id == job_id)
        for job_id in job_ids
    }


def read_starts_and_progress(
    session: Session, job_ids: list[int]
) -> dict[int, tuple[datetime | None, float | None]]:
    """(start, part of the way done) of those that still run."""
    query = select(Attempt.job_id, Attempt.started_at, Attempt.progress).where(
        Attempt.job_id.in_(job_ids), Attempt.ended_at.is_(None)
    )
    return {job_id: (started_at, part) for job_id, started_at, part in session.execute(query)}
