"""Lets a manager change the queue of a workspace: hold a job and release it, move it forward or back."""

from collections.abc import Callable
from enum import StrEnum

from sqlalchemy import Select, select, tuple_
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.queue.reasons import JobOnHold, to_waiting_data
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import events, queries
from cluster.services.people.access import job_relation
from cluster.services.placement.queue_heads import WAITING_STATE
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import POSITION_STEP, Job

WINDOW = 64
"""The number of neighbours that get new positions if no number is free between two of them."""


class MoveDirection(StrEnum):
    UP = "up"
    DOWN = "down"
    FRONT = "front"
    BEFORE = "before"


def hold_job(cluster: Cluster, actor: Actor, job_id: int) -> Job:
    """Holds the job until it is released; a second hold changes nothing. Raises Forbidden, Conflict."""
    now = cluster.clock()
    with cluster.store.write() as session:
        job = load_waiting_job(session, actor, job_id)
        if job.held_at is None:
            reason = JobOnHold(actor.name, now)
            job.held_at, job.held_by = now, actor.user_id
            job.waiting_code, job.waiting_data = reason.code, to_waiting_data(reason)
            events.add_job_event(session, job, now, JobState.WAITING, "job.held", {"by": actor.name})
            add_audit_entry(session, now, actor, "job.held", job.id, name=job.name)
    events.publish_jobs(cluster, job_id)
    return job


def release_job(cluster: Cluster, actor: Actor, job_id: int) -> Job:
    """Makes the job wait again at its old position. Raises Forbidden, Conflict."""
    now = cluster.clock()
    with cluster.store.write() as session:
        job = load_waiting_job(session, actor, job_id)
        if job.held_at is not None:
            job.held_at = job.held_by = None
            job.waiting_code = job.waiting_data = None
            events.add_job_event(session, job, now, JobState.WAITING, "job.released", {"by": actor.name})
            add_audit_entry(session, now, actor, "job.released", job.id, name=job.name)
    events.publish_jobs(cluster, job_id)
    return job


def move_job(cluster: Cluster, actor: Actor, job_id: int, step: str, before_id: int | None = None) -> Job:
    """Moves the job within its workspace's line. It takes on the priority of the job before which it is put.

    `step` is one of `MoveDirection`. Raises Forbidden, Conflict if it no longer waits, Refused if `before_id` is not in
    the same line.
    """
    now = cluster.clock()
    with cluster.store.write(lock="placement") as session:
        job = load_waiting_job(session, actor, job_id)
        place = (job.position, job.priority)
        before = apply_move(session, job, parse_move(step), before_id)
        if place != (job.position, job.priority):
            data = {"by": actor.name, "before": before.id if before else None}
            events.add_job_event(session, job, now, JobState.WAITING, "job.moved", data)
            add_audit_entry(session, now, actor, "job.moved", job.id, name=job.name, before=data["before"])
    events.publish_jobs(cluster, job_id)
    return job


def can_reorder_job(actor: Actor, job: Job) -> bool:
    return is_allowed("job.arrange", job_relation(actor, job))


def load_waiting_job(session: Session, actor: Actor, job_id: int) -> Job:
    """Locks the row, because the scheduler may be giving the job units at the same moment."""
    session.execute(select(Job.id).where(Job.id == job_id).with_for_update())
    job = queries.load_job(session, actor, job_id)
    require_permission("job.arrange", job_relation(actor, job), job_id)
    if job.state is not JobState.WAITING:
        raise Conflict("job.waits_no_more", id=job.id, state=job.state.value)
    return job


def parse_move(text: str) -> MoveDirection:
    if text not in set(MoveDirection):
        raise Refused("step", "value.not_a_choice", allowed=sorted(MoveDirection))
    return MoveDirection(text)


def apply_move(session: Session, job: Job, step: MoveDirection, before_id: int | None) -> Job | None:
    """Moves the job. Returns the job before which it stands now; None at the end of the line."""
    match step:
        case MoveDirection.UP:
            others = nearest_jobs(session, job, 1, forward=False)
        case MoveDirection.DOWN:
            others = nearest_jobs(session, job, 2)[1:]
            if not others:
                move_last(session, job)
        case MoveDirection.FRONT:
            others = first_of_queue(session, job)
        case MoveDirection.BEFORE:
            others = [find_in_queue(session, job, before_id)]
    if others and others[0] is not None and others[0].id != job.id:
        move_before(session, job, others[0])
        return others[0]
    return None


def find_in_queue(session: Session, job: Job, before_id: int | None) -> Job:
    other = session.get(Job, before_id) if before_id is not None else None
    if other is None or other.workspace_id != job.workspace_id or other.state is not JobState.WAITING:
        raise Refused("before", "job.not_in_line", id=before_id, name=job.workspace.name)
    return other


def move_before(session: Session, job: Job, other: Job) -> None:
    previous = [each for each in nearest_jobs(session, other, 2, forward=False) if each.id != job.id]
    if previous and other.position - previous[0].position < 2:
        spread_positions(session, other)
    low = previous[0].position if previous else other.position - 2 * POSITION_STEP
    job.position, job.priority = (low + other.position) // 2, other.priority


def move_last(session: Session, job: Job) -> None:
    """Moves the job behind all waiting jobs and before any job that is submitted later."""
    for last in nearest_jobs(session, job, 1):
        job.position, job.priority = last.position + POSITION_STEP // 2, last.priority


def spread_positions(session: Session, other: Job) -> None:
    """Spreads the jobs around it evenly over the places that they have together."""
    before = nearest_jobs(session, other, WINDOW, forward=False)
    line = [*reversed(before), other, *nearest_jobs(session, other, WINDOW)]
    first = line[0].position - (POSITION_STEP * WINDOW if len(before) < WINDOW else 0)
    gap = (line[-1].position - first) // len(line)
    for number, each in enumerate(line, start=1):
        each.position = first + number * gap


def nearest_jobs(session: Session, job: Job, number: int, forward: bool = True) -> list[Job]:
    """Returns the nearest jobs of its line, held ones included. Held and other jobs are one search each, with an index
    of their own.
    """
    here, place = tuple_(Job.position, Job.id), tuple_(job.position, job.id)
    beyond = here > place if forward else here < place
    order = (Job.position, Job.id) if forward else (Job.position.desc(), Job.id.desc())
    return read_held_and_free(
        session, job, lambda query: query.where(beyond).order_by(*order), number, forward
    )


def first_of_queue(session: Session, job: Job) -> list[Job]:
    return read_held_and_free(
        session, job, lambda query: query.order_by(Job.position, Job.id), 1, forward=True
    )


def read_held_and_free(
    session: Session, job: Job, narrow: Callable[[Select[Job]], Select[Job]], number: int, forward: bool
) -> list[Job]:
    line = select(Job).where(Job.workspace_id == job.workspace_id, Job.state == WAITING_STATE)
    halves = (Job.held_at.is_(None), Job.held_at.is_not(None))
    found = [each for half in halves for each in session.scalars(narrow(line.where(half)).limit(number))]
    return sorted(found, key=lambda each: (each.position, each.id), reverse=not forward)[:number]
