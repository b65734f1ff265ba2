"""Gives units to the jobs that placement chose and writes the waiting reason of the others: one transaction per
scheduling pass."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, insert, select, tuple_, update
from sqlalchemy.orm import Session

from cluster.domain.placement.types import NodeUnits, NotPlaced, Placement
from cluster.domain.queue.reasons import AheadInQueue, to_waiting_data
from cluster.domain.states import AttemptState, DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs.events import add_job_events, publish_jobs
from cluster.services.leases import HeldLease, check_lease
from cluster.services.placement.snapshot import (
    PlacementSnapshot,
    has_startable_heads,
    read_placement_snapshot,
    read_startable_snapshot,
)
from cluster.store.base import UtcDateTime, table_of
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from cluster.store.workspaces import Workspace

JOBS, ATTEMPTS, ALLOCATIONS, WORKSPACES = map(table_of, (Job, Attempt, Allocation, Workspace))
CLAIM_JOBS = (
    update(JOBS)
    .where(
        JOBS.c.id.in_(bindparam("ids", expanding=True)),
        tuple_(JOBS.c.id, JOBS.c.fence).in_(bindparam("known", expanding=True)),
        JOBS.c.state == JobState.WAITING,
        JOBS.c.desired == DesiredState.RUN,
        JOBS.c.held_at.is_(None),
    )
    .values(
        state=JobState.STARTING,
        fence=JOBS.c.fence + 1,
        dispatched_at=func.coalesce(JOBS.c.dispatched_at, bindparam("now", type_=UtcDateTime)),
        waiting_code=None,
        waiting_data=None,
    )
    .returning(JOBS.c.id, JOBS.c.fence)
)
RECORD_TURN = (
    update(WORKSPACES)
    .where(WORKSPACES.c.id == bindparam("place"))
    .values(
        last_turn_at=bindparam("at", type_=UtcDateTime),
        last_turn_attempt_id=bindparam("attempt"),
        version=WORKSPACES.c.version,
    )
)
"""The column is written without the row's version, so that a person who edits the workspace meanwhile gets no conflict.
"""
BEGIN_ATTEMPTS = insert(ATTEMPTS).returning(ATTEMPTS.c.job_id, ATTEMPTS.c.id)
GIVE_UNITS = insert(ALLOCATIONS)
"""The statements of a booking are built once and do not use the mapper, because every job waits for them."""


@dataclass(frozen=True)
class DispatchPlan:
    """The placements and waiting reasons that differ from what the rows say."""

    snapshot: PlacementSnapshot
    placements: list[Placement]
    reasons: list[NotPlaced]


def place_waiting_jobs(
    cluster: Cluster,
    held: HeldLease,
    is_rung: bool = False,
    has_freed: bool = False,
    note: Callable[[PlacementSnapshot], object] = lambda snapshot: None,
) -> list[int]:
    """Starts the jobs that fit, writes the waiting reason of the queue heads, and returns the ids of the new attempts.

    Reads before it locks, so that an unchanged queue costs no write. If an event has just arrived, or units have come
    free (`has_freed`), a change is likely and it locks at once; then it reads only what decides which jobs can start,
    and the next pass without such a cause writes the reasons of the others. `note` is called with the decisions on the
    whole queue, once the starts are committed. Raises LeaseLost.
    """
    is_urgent = is_rung or has_freed
    if not is_urgent or (cluster.store.is_sqlite and not has_freed):
        with cluster.store.read() as session:
            if is_urgent:
                if not has_startable_heads(cluster, session):
                    return []
            else:
                look = plan_dispatch(cluster, session)
                if look is not None and not look.placements and not look.reasons:
                    note(look.snapshot)
                    return []
    now = cluster.clock()
    with cluster.store.write(lock="placement") as session:
        check_lease(session, held)
        look = plan_dispatch(cluster, session, is_urgent)
        if look is None:
            return []
        attempts = allocate_units(session, look, now)
        written = record_waiting_reasons(session, look, now)
    publish_jobs(cluster, *attempts, *written)
    if not is_urgent:
        note(look.snapshot)
    return list(attempts.values())


def plan_dispatch(cluster: Cluster, session: Session, is_urgent: bool = False) -> DispatchPlan | None:
    """Returns None if an urgent pass finds nothing that could start. Such a pass writes no reasons."""
    read = read_startable_snapshot if is_urgent else read_placement_snapshot
    board = read(cluster, session)
    if board is None:
        return None
    decisions = board.decisions
    placements = [decision for decision in decisions if isinstance(decision, Placement)]
    if is_urgent:
        return DispatchPlan(board, placements, [])
    reasons = (decision for decision in decisions if isinstance(decision, NotPlaced))
    return DispatchPlan(board, placements, [one for one in reasons if is_new_reason(board, one)])


def is_new_reason(board: PlacementSnapshot, decision: NotPlaced) -> bool:
    """A row stores only a reason of its own. Whether a job stands behind others is computed when a page needs it."""
    known = board.jobs[decision.job_id].waiting_code
    if known is None and isinstance(decision.reason, AheadInQueue):
        return False
    return known != decision.reason.code


def allocate_units(session: Session, look: DispatchPlan, now: datetime) -> dict[int, int]:
    """Makes attempts with their allocations, by job; a job that has changed meanwhile gets none."""
    if not look.placements:
        return {}
    fences = claim_jobs(session, look, now)
    placed = [decision for decision in look.placements if decision.job_id in fences]
    attempts = [
        {
            "job_id": decision.job_id,
            "number": fences[decision.job_id],
            "node_id": decision.node_id,
            "state": AttemptState.PLACED,
            "created_at": now,
        }
        for decision in placed
    ]
    if not attempts:
        return {}
    made = session.execute(BEGIN_ATTEMPTS, attempts)
    ids: dict[int, int] = {job_id: attempt_id for job_id, attempt_id in made}  # noqa: C416
    session.execute(
        GIVE_UNITS,
        [
            {"unit_id": unit_id, "attempt_id": ids[decision.job_id], "begun_at": now}
            for decision in placed
            for unit_id in decision.unit_ids
        ],
    )
    record_turns(session, look, ids, now)
    nodes = {node.node_id: node for node in look.snapshot.nodes}
    add_job_events(
        session,
        now,
        JobState.STARTING,
        ((one.job_id, "job.placed", placement_event_data(one, fences[one.job_id], nodes)) for one in placed),
    )
    return ids


def record_turns(session: Session, look: DispatchPlan, attempts: dict[int, int], now: datetime) -> None:
    """Records that the placed jobs' workspaces have used their turns. A backfill uses none."""
    last_attempts: dict[int, int] = {}
    passing = {decision.job_id for decision in look.placements if decision.is_backfill}
    for job_id, attempt_id in attempts.items():
        if job_id in passing:
            continue
        workspace_id = look.snapshot.jobs[job_id].workspace_id
        last_attempts[workspace_id] = max(attempt_id, last_attempts.get(workspace_id, 0))
    if not last_attempts:
        return
    rows = [{"place": place, "at": now, "attempt": attempt} for place, attempt in last_attempts.items()]
    session.execute(RECORD_TURN, rows)


def claim_jobs(session: Session, look: DispatchPlan, now: datetime) -> dict[int, int]:
    """Claims the jobs by compare-and-set on state, desired state and fence. Returns the new fence by job."""
    known = [(decision.job_id, look.snapshot.jobs[decision.job_id].fence) for decision in look.placements]
    ids = [job_id for job_id, _fence in known]
    taken = session.execute(CLAIM_JOBS, {"ids": ids, "known": known, "now": now})
    return {job_id: fence for job_id, fence in taken}  # noqa: C416


def placement_event_data(placed: Placement, attempt: int, nodes: Mapping[int, NodeUnits]) -> dict[str, Any]:
    """The event's data have `nodes` only if there are several."""
    first, units = nodes[placed.node_id], len(placed.unit_ids)
    told = {"attempt": attempt, "node": first.name, "units": units, "kind": first.kind.value}
    if len(placed.nodes) == 1:
        return told
    return told | {"nodes": [nodes[node_id].name for node_id, _units in placed.nodes]}


def record_waiting_reasons(session: Session, look: DispatchPlan, now: datetime) -> list[int]:
    """Writes the new kind of reason into row and history, with its data of this moment."""
    if not look.reasons:
        return []
    known = [(one.job_id, look.snapshot.jobs[one.job_id].fence) for one in look.reasons]
    ids = [job_id for job_id, _fence in known]
    data = {one.job_id: to_waiting_data(one.reason, one.outlook) for one in look.reasons}
    still = set(
        session.scalars(
            select(Job.id)
            .where(
                Job.id.in_(ids),
                tuple_(Job.id, Job.fence).in_(known),
                Job.state == JobState.WAITING,
                Job.held_at.is_(None),
            )
            .with_for_update()
        )
    )
    news = [(one.job_id, one.reason.code, data[one.job_id]) for one in look.reasons if one.job_id in still]
    rows = [{"id": job_id, "waiting_code": code, "waiting_data": data} for job_id, code, data in news]
    if rows:
        session.execute(update(Job), rows)
    add_job_events(session, now, JobState.WAITING, news)
    return sorted(still)
