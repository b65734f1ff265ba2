"""Lists running jobs for the queue page: expected end, progress and nodes."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.placement.types import RunningOnNode
from cluster.services.jobs.queries import JobLine, filter_ids_of_user, load_job_lines
from cluster.store.jobs import Attempt
from cluster.store.nodes import Node

RunningCursor = tuple[int, int]
NO_KNOWN_END = 1 << 62


@dataclass(frozen=True)
class RunningJob:
    """`share_done` is the share that the job reports as done, 0 to 1; None if it reports none. `job` is None if the
    reader may not see it.
    """

    id: int
    job: JobLine | None
    units: int
    nodes: tuple[str, ...]
    started_at: datetime | None
    ends_at: datetime | None
    share_done: float | None = None


def read_running_jobs(
    session: Session,
    actor: Actor,
    running: Sequence[RunningOnNode],
    limit: int,
    workspace_id: int | None = None,
    user_id: int | None = None,
    after: RunningCursor | None = None,
) -> tuple[list[RunningJob], RunningCursor | None]:
    """Lists jobs with the soonest known ends first, those after the cursor `after`, even if that job has ended. Returns
    also the cursor of the next page.
    """
    units: Counter[int] = Counter()
    for run in running:
        if workspace_id in (None, run.workspace_id):
            units[run.job_id] += run.units
    ends = {run.job_id: run.ends_at for run in running}
    mine = units if user_id is None else filter_ids_of_user(session, actor, units, user_id)
    order = sorted(running_cursor(ends[job_id], job_id) for job_id in mine)
    begin = bisect_right(order, after) if after else 0
    shown = [job_id for _, job_id in order[begin : begin + limit]]
    rows, seen = load_job_lines(session, actor, shown)
    visible = {job_id: rows[job_id] for job_id in seen}
    nodes, told = running_node_names(session, running, shown), read_starts_and_progress(session, shown)
    runs = [
        RunningJob(
            job_id,
            visible.get(job_id),
            units[job_id],
            nodes[job_id],
            began,
            ends[job_id],
            part,
        )
        for job_id, (began, part) in ((job_id, told.get(job_id, (None, None))) for job_id in shown)
    ]
    return runs, order[begin + len(shown) - 1] if len(order) > begin + len(shown) > 0 else None


def running_cursor(ends_at: datetime | None, job_id: int) -> RunningCursor:
    """The position of the job in the list: its end in milliseconds. Jobs without an end come last."""
    return (NO_KNOWN_END if ends_at is None else int(ends_at.timestamp() * 1000), job_id)


def running_node_names(
    session: Session, running: Sequence[RunningOnNode], job_ids: list[int]
) -> dict[int, tuple[str, ...]]:
    if not job_ids:
        return {}
    shown = set(job_ids)
    on_nodes = [run for run in running if run.job_id in shown]
    query = select(Node.id, Node.name).where(Node.id.in_({run.node_id for run in on_nodes}))
    names = {node_id: name for node_id, name in session.execute(query)}  # noqa: C416
    found: dict[int, tuple[str, ...]] = dict.fromkeys(job_ids, ())
    for run in on_nodes:
        found[run.job_id] += (names[run.node_id],)
    return found


def read_starts_and_progress(
    session: Session, job_ids: list[int]
) -> dict[int, tuple[datetime | None, float | None]]:
    """Returns job id → (start, share done) for the jobs that still run."""
    if not job_ids:
        return {}
    query = select(Attempt.job_id, Attempt.started_at, Attempt.progress).where(
        Attempt.job_id.in_(job_ids), Attempt.ended_at.is_(None)
    )
    return {job_id: (started_at, part) for job_id, started_at, part in session.execute(query)}
