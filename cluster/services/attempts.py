"""The scheduler's verbs about an attempt: record what became of it, let its job wait again.

Each is one transaction, compare-and-set on the job's fence, made under the scheduler's lease. False or an
empty answer means that somebody was faster: the caller looks again and changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from cluster.domain.exits import ExitTruth, Outcome
from cluster.domain.jobs import Event, next_state
from cluster.domain.states import AttemptState, Desired, JobState
from cluster.domain.waiting import Interrupted, to_data
from cluster.services.context import Cluster
from cluster.services.leases import Held, check_lease
from cluster.store.jobs import Attempt, Job, JobEvent
from cluster.store.nodes import Allocation
from cluster.store.users import User

EVENT_OF_END = {
    JobState.FINISHED: Event.FINISHED,
    JobState.FAILED: Event.FAILED,
    JobState.STOPPED: Event.STOPPED,
}


@dataclass(frozen=True)
class LivingAttempt:
    """What the scheduler knows of an attempt that has not ended; `fence` is the job's now."""

    attempt_id: int
    job_id: int
    workspace_id: int
    number: int
    fence: int
    state: AttemptState
    desired: Desired
    created_at: datetime


def list_living(cluster: Cluster) -> list[LivingAttempt]:
    query = (
        select(Attempt, Job)
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.ended_at.is_(None))
        .order_by(Attempt.id)
    )
    with cluster.store.read() as session:
        return [
            LivingAttempt(
                attempt.id,
                job.id,
                job.workspace_id,
                attempt.number,
                job.fence,
                attempt.state,
                job.desired,
                attempt.created_at,
            )
            for attempt, job in session.execute(query)
        ]


def record_starting(cluster: Cluster, held: Held, attempt_id: int) -> bool:
    """Written before the executor is asked."""
    with cluster.store.write() as session:
        check_lease(session, held)
        attempt = load_current(session, attempt_id)
        if attempt is None or attempt.state is not AttemptState.PLACED:
            return False
        attempt.state = AttemptState.STARTING
    return True


def record_running(
    cluster: Cluster, held: Held, attempt_id: int, handle: Mapping[str, Any], adopted: bool = False
) -> bool:
    """`handle` is the executor's; `adopted` where another scheduler had started it."""
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        attempt = load_current(session, attempt_id)
        if attempt is None or attempt.state is AttemptState.RUNNING:
            return False
        attempt.state = AttemptState.RUNNING
        attempt.handle = dict(handle)
        attempt.started_at = now
        job = attempt.job
        job.state = next_state(job.state, Event.STARTED)
        job.started_at = job.started_at or now
        data = {"attempt": attempt.number, "node": attempt.node.name}
        note(session, job, now, job.state, "job.adopted" if adopted else "job.started", data)
    ring(cluster, attempt.job_id)
    return True


def record_end(
    cluster: Cluster, held: Held, attempt_id: int, outcome: Outcome, truth: ExitTruth | None = None
) -> bool:
    """The job's end and the freeing of its units are one transaction."""
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        attempt = load_current(session, attempt_id)
        if attempt is None:
            return False
        job = attempt.job
        ended_at = moment_of_end(truth, attempt, now)
        outcome = with_name(session, job, outcome)
        end_attempt(session, attempt, now, ended_at, outcome.code, outcome.data, outcome.exit_code)
        if attempt.started_at is None and truth is not None and truth.started_at is not None:
            attempt.started_at = job.started_at = min(truth.started_at, ended_at)
        job.state = next_state(job.state, EVENT_OF_END[outcome.state])
        job.ended_at = ended_at
        job.exit_code, job.end_code, job.end_data = outcome.exit_code, outcome.code, outcome.data
        if truth is not None:
            job.cpu_seconds, job.max_memory_bytes = truth.cpu_seconds, truth.max_rss_bytes
            job.results = {name: list(three) for name, three in truth.results.items()} or None
        left = {"left_behind": truth.left_behind} if truth and truth.left_behind else {}
        note(session, job, now, job.state, outcome.code, outcome.data | left | {"attempt": attempt.number})
    ring(cluster, attempt.job_id)
    return True


def interrupt_attempt(
    cluster: Cluster, held: Held, attempt_id: int, cause: str, data: Mapping[str, Any]
) -> bool:
    """It ended for no fault of the job, which waits again, or is stopped where somebody wanted that."""
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        attempt = load_current(session, attempt_id)
        if attempt is None:
            return False
        job = attempt.job
        end_attempt(session, attempt, now, now, cause, dict(data), None)
        if job.desired is Desired.STOP:
            outcome = with_name(session, job, Outcome(JobState.STOPPED, "exit.stopped", {}))
            job.state, job.ended_at = outcome.state, now
            job.end_code, job.end_data = outcome.code, outcome.data
            note(session, job, now, job.state, outcome.code, outcome.data | {"attempt": attempt.number})
        else:
            reason = Interrupted(cause, attempt.number)
            job.state = next_state(job.state, Event.INTERRUPTED)
            job.waiting_code, job.waiting_data = reason.code, to_data(reason)
            note(session, job, now, job.state, reason.code, to_data(reason))
    ring(cluster, attempt.job_id)
    return True


def load_current(session: Session, attempt_id: int) -> Attempt | None:
    """The attempt, locked together with its job; None where it has ended or a newer one exists."""
    job = session.scalar(
        select(Job)
        .join(Attempt, Attempt.job_id == Job.id)
        .where(Attempt.id == attempt_id, Attempt.ended_at.is_(None), Job.fence == Attempt.number)
        .with_for_update()
    )
    return session.get_one(Attempt, attempt_id) if job is not None else None


def end_attempt(
    session: Session,
    attempt: Attempt,
    now: datetime,
    ended_at: datetime,
    code: str,
    data: dict[str, Any],
    exit_code: int | None,
) -> None:
    attempt.state = AttemptState.ENDED
    attempt.ended_at = ended_at
    attempt.end_code, attempt.end_data, attempt.exit_code = code, data, exit_code
    session.execute(
        update(Allocation)
        .where(Allocation.attempt_id == attempt.id, Allocation.ended_at.is_(None))
        .values(ended_at=now)
    )


def with_name(session: Session, job: Job, outcome: Outcome) -> Outcome:
    """A stop says whose wish it was."""
    if outcome.state is not JobState.STOPPED or job.stopped_by is None:
        return outcome
    return replace(outcome, data=outcome.data | {"by": session.get_one(User, job.stopped_by).name})


def moment_of_end(truth: ExitTruth | None, attempt: Attempt, now: datetime) -> datetime:
    """The shim's word, where it can be true; without root the program could have forged it."""
    if truth is None or truth.ended_at is None:
        return now
    return max(min(truth.ended_at, now), attempt.started_at or attempt.created_at)


def note(
    session: Session, job: Job, now: datetime, state: JobState, code: str, data: Mapping[str, Any]
) -> None:
    session.add(JobEvent(job_id=job.id, at=now, state=state.value, code=code, data=dict(data)))


def ring(cluster: Cluster, *job_ids: int) -> None:
    for job_id in job_ids:
        cluster.bell.ring("jobs", job_id)
    if job_ids:
        cluster.bell.ring("queue", 0)
