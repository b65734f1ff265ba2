"""Records what the scheduler did with an attempt: started, running, ended, interrupted; requeues its job if it is
tried again.

Each function is one transaction that compares the fences of the jobs and checks the scheduler's lease. If the returned
attempts lack one, another process has changed it first: the caller reads again and changes nothing. Several attempts
are recorded together, because a commit costs as much for one as for many.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, select, update
from sqlalchemy.orm import Session, load_only
from sqlalchemy.orm.attributes import set_committed_value

from cluster.domain.jobs.attempts import AttemptOutcome, is_retried
from cluster.domain.jobs.exits import ExitRecord
from cluster.domain.jobs.headline_metric import HeadlineMetric, choose_headline_metric
from cluster.domain.jobs.lifecycle import JobEventKind, next_state
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.queue.reasons import AttemptInterrupted, RetryAfterFailure, RetryBackoff, to_waiting_data
from cluster.domain.queue.retry_backoff import MAX_INTERRUPTIONS_IN_A_ROW, backoff_after
from cluster.domain.states import AttemptState, DesiredState, JobState
from cluster.domain.storage.disk_reserve import StopCause
from cluster.domain.sweeps.plan import stop_code_of
from cluster.services.context import Cluster
from cluster.services.jobs.events import add_job_event, add_job_events, publish_jobs
from cluster.services.leases import HeldLease, check_lease
from cluster.services.notifications.job_events import write_job_end_events
from cluster.services.placement.start_blockers import read_interruptions_in_a_row
from cluster.store.base import UtcDateTime, table_of
from cluster.store.jobs import Attempt, Job, Sweep, headline_columns
from cluster.store.nodes import Allocation, Node
from cluster.store.users import User

EVENT_OF_END = {
    JobState.FINISHED: JobEventKind.FINISHED,
    JobState.FAILED: JobEventKind.FAILED,
    JobState.STOPPED: JobEventKind.STOPPED,
}
CURRENT_ATTEMPTS = (
    select(Attempt, Job, Node)
    .join(Job, Job.id == Attempt.job_id)
    .join(Node, Node.id == Attempt.node_id)
    .where(
        Attempt.id.in_(bindparam("ids", expanding=True)),
        Attempt.ended_at.is_(None),
        Job.fence == Attempt.number,
    )
    .order_by(Attempt.id)
    .options(load_only(Node.name))
    .with_for_update(of=[Attempt, Job])
)
"""The statement leaves out the facts of the nodes, which are long."""
CLAIM_STARTS = (
    update(Attempt)
    .where(
        Attempt.id.in_(bindparam("ids", expanding=True)),
        Attempt.state == AttemptState.PLACED,
        Attempt.ended_at.is_(None),
        Attempt.number == select(Job.fence).where(Job.id == Attempt.job_id).scalar_subquery(),
    )
    .values(state=AttemptState.STARTING, environment_id=bindparam("environment"))
    .returning(Attempt.id)
    .execution_options(synchronize_session=False)
)
ATTEMPTS, JOBS, NODES, ALLOCATIONS = map(table_of, (Attempt, Job, Node, Allocation))
CURRENT_COLUMNS = (
    select(
        ATTEMPTS.c.id,
        ATTEMPTS.c.number,
        ATTEMPTS.c.state,
        ATTEMPTS.c.job_id,
        JOBS.c.state.label("job_state"),
        JOBS.c.started_at.label("job_started_at"),
        NODES.c.name.label("node"),
    )
    .join(JOBS, JOBS.c.id == ATTEMPTS.c.job_id)
    .join(NODES, NODES.c.id == ATTEMPTS.c.node_id)
    .where(
        ATTEMPTS.c.id.in_(bindparam("ids", expanding=True)),
        ATTEMPTS.c.ended_at.is_(None),
        JOBS.c.fence == ATTEMPTS.c.number,
    )
    .order_by(ATTEMPTS.c.id)
    .with_for_update(of=[ATTEMPTS, JOBS])
)
"""The attempts as `CURRENT_ATTEMPTS` finds and locks them, in the columns that a start needs."""
BEGIN_RUNNING = (
    update(ATTEMPTS)
    .where(ATTEMPTS.c.id == bindparam("attempt"))
    .values(
        state=AttemptState.RUNNING,
        handle=bindparam("told", type_=ATTEMPTS.c.handle.type),
        started_at=bindparam("now", type_=UtcDateTime),
    )
)
BEGIN_JOBS = (
    update(JOBS)
    .where(JOBS.c.id == bindparam("job"))
    .values(state=bindparam("to", type_=JOBS.c.state.type), started_at=bindparam("began", type_=UtcDateTime))
)
FREE_UNITS = (
    update(ALLOCATIONS)
    .where(
        ALLOCATIONS.c.attempt_id.in_(bindparam("attempts", expanding=True)), ALLOCATIONS.c.ended_at.is_(None)
    )
    .values(ended_at=bindparam("now", type_=UtcDateTime))
)
"""The statements are built once, because they are executed for every job."""


def record_starting(
    cluster: Cluster,
    held: HeldLease,
    resumes: Mapping[int, ResumePoint | None],
    environments: Mapping[int, int | None] | None = None,
) -> list[int]:
    """Records the starts before the executor is asked. `resumes` has the checkpoint with which each attempt begins,
    `environments` the id of the environment in which it runs. Returns the attempts whose state was changed.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        starting: list[int] = []
        for environment, ids in group_by_environment(resumes, environments or {}).items():
            starting += session.scalars(CLAIM_STARTS, {"ids": ids, "environment": environment})
        for attempt_id in starting:
            if (resume := resumes[attempt_id]) is not None:
                record_resume_point(session, attempt_id, resume, now)
    return starting


def group_by_environment(
    ids: Iterable[int], environments: Mapping[int, int | None]
) -> dict[int | None, list[int]]:
    groups: dict[int | None, list[int]] = {}
    for attempt_id in ids:
        groups.setdefault(environments.get(attempt_id), []).append(attempt_id)
    return groups


def record_resume_point(session: Session, attempt_id: int, resume: ResumePoint, now: datetime) -> None:
    (attempt,) = load_current_attempts(session, [attempt_id])
    attempt.resumed_from = resume.key if resume.job is None else f"job-{resume.job}/{resume.key}"
    if resume.job is not None:
        data = {"epoch": resume.epoch, "job": resume.job, "attempt": attempt.number}
        add_job_event(session, attempt.job, now, attempt.job.state, "job.continues", data)
        return
    data = {"epoch": resume.epoch, "from_attempt": resume.attempt, "attempt": attempt.number}
    add_job_event(session, attempt.job, now, attempt.job.state, "job.resumed", data)


def record_running(
    cluster: Cluster, held: HeldLease, handles: Mapping[int, Mapping[str, Any]], adopted: bool = False
) -> list[int]:
    """Records that the attempts run. `handles` are the executor's, by attempt; `adopted` is true if another scheduler
    had started them. Returns the attempts that did not count as running before.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        found = session.execute(CURRENT_COLUMNS, {"ids": list(handles)}).all()
        begun = [row for row in found if row.state is not AttemptState.RUNNING]
        if begun:
            write_starts(session, begun, handles, now)
            record_start_lines(session, begun, now, "job.adopted" if adopted else "job.started")
    publish_jobs(cluster, *(row.job_id for row in begun))
    return [row.id for row in begun]


def write_starts(
    session: Session,
    begun: Sequence[Row[*tuple[Any, ...]]],
    handles: Mapping[int, Mapping[str, Any]],
    now: datetime,
) -> None:
    session.execute(
        BEGIN_RUNNING,
        [{"attempt": row.id, "told": dict(handles[row.id]), "now": now} for row in begun],
    )
    session.execute(
        BEGIN_JOBS,
        [
            {"job": row.job_id, "to": state_once_started(row), "began": row.job_started_at or now}
            for row in begun
        ],
    )


def record_start_lines(
    session: Session, begun: Sequence[Row[*tuple[Any, ...]]], now: datetime, code: str
) -> None:
    """Adds one line of history for each of the jobs."""
    lines: dict[JobState, list[tuple[int, str, dict[str, Any]]]] = {}
    for row in begun:
        data = {"attempt": row.number, "node": row.node}
        lines.setdefault(state_once_started(row), []).append((row.job_id, code, data))
    for state, told in lines.items():
        add_job_events(session, now, state, told)


def state_once_started(row: Row[*tuple[Any, ...]]) -> JobState:
    return next_state(row.job_state, JobEventKind.STARTED)


def record_stop_cause(cluster: Cluster, held: HeldLease, attempt_id: int, cause: StopCause) -> bool:
    """Records why the scheduler ends the attempt, before the end itself. The first cause stays."""
    with cluster.store.write() as session:
        check_lease(session, held)
        attempt = load_current_attempt(session, attempt_id)
        if attempt is None or attempt.stop_cause_code is not None:
            return False
        attempt.stop_cause_code, attempt.stop_cause_data = cause.code, dict(cause.data)
    return True


@dataclass(frozen=True)
class AttemptEnd:
    """Records the end of an attempt. A job with retries left continues from `resume`."""

    attempt_id: int
    outcome: AttemptOutcome
    truth: ExitRecord | None = None
    resume: ResumePoint | None = None


def record_end(cluster: Cluster, held: HeldLease, *ends: AttemptEnd) -> list[int]:
    """Records the ends and frees the units in one transaction. Returns the attempts that had not ended before.

    A failed job with tries left waits again instead.
    """
    now, by_attempt = cluster.clock(), {end.attempt_id: end for end in ends}
    with cluster.store.write() as session:
        check_lease(session, held)
        ended = load_current_attempts(session, by_attempt)
        free_units(session, ended, now)
        for attempt in ended:
            end_attempt_and_job(session, attempt, by_attempt[attempt.id], now)
        write_job_end_events(session, [attempt.job for attempt in ended], now)
    publish_jobs(cluster, *(attempt.job_id for attempt in ended))
    return [attempt.id for attempt in ended]


def end_attempt_and_job(session: Session, attempt: Attempt, end: AttemptEnd, now: datetime) -> None:
    job, truth = attempt.job, end.truth
    ended_at = choose_end_time(truth, attempt, now)
    outcome = with_requester_name(session, job, end.outcome)
    end_attempt(attempt, ended_at, outcome)
    if attempt.started_at is None and truth is not None and truth.started_at is not None:
        attempt.started_at = min(truth.started_at, ended_at)
        job.started_at = job.started_at or attempt.started_at
    record_usage(session, attempt, truth)
    left = {"left_behind": truth.left_behind} if truth and truth.left_behind else {}
    data = outcome.data | left | {"attempt": attempt.number}
    if is_retried(outcome, job.desired, job.retries, job.retries_used):
        retry_job(session, job, now, outcome, attempt.number, end.resume)
    else:
        if truth is not None:
            job.results = {name: list(three) for name, three in truth.results.items()} or None
            record_headline(job, headline_of(session, job, truth))
        end_job(session, job, now, ended_at, outcome, data)


def headline_of(session: Session, job: Job, truth: ExitRecord) -> HeadlineMetric | None:
    """The headline metric at the end. The training is read only for a job that has measured something."""
    if not truth.results:
        return None
    with session.no_autoflush:
        objective = truth.objective or job.training.objective
    return choose_headline_metric(truth.results, objective)


def record_headline(job: Job, headline: HeadlineMetric | None) -> None:
    """Records the headline metric. An empty record keeps the earlier measurements."""
    if headline is not None:
        for column, value in headline_columns(headline).items():
            setattr(job, column, value)


def end_job(
    session: Session,
    job: Job,
    now: datetime,
    ended_at: datetime,
    outcome: AttemptOutcome,
    data: Mapping[str, Any],
) -> None:
    """Ends the job; `data` are those of its event."""
    job.state = next_state(job.state, EVENT_OF_END[outcome.state])
    job.ended_at = ended_at
    job.exit_code, job.end_code, job.end_data = outcome.exit_code, outcome.code, outcome.data
    add_job_event(session, job, now, job.state, outcome.code, data)
    mark_sweep_on_failure(session, job, outcome, now)


def retry_job(
    session: Session,
    job: Job,
    now: datetime,
    outcome: AttemptOutcome,
    number: int,
    resume: ResumePoint | None,
) -> None:
    job.state = next_state(job.state, JobEventKind.RETRIED)
    job.retries_used += 1
    reason = RetryAfterFailure(outcome.code, number, job.retries_used, job.retries)
    requeue_job(session, job, now, reason, outcome.data, resume)


def requeue_job(
    session: Session,
    job: Job,
    now: datetime,
    reason: AttemptInterrupted | RetryAfterFailure | RetryBackoff,
    data: Mapping[str, Any],
    resume: ResumePoint | None,
) -> None:
    """Adds the data of the cause to the reason, so that its sentence can name them."""
    job.resume_from = resume.key if resume is not None else None
    job.waiting_code, job.waiting_data = reason.code, dict(data) | to_waiting_data(reason)
    add_job_event(session, job, now, job.state, reason.code, job.waiting_data)


def record_interruption(
    cluster: Cluster,
    held: HeldLease,
    attempt_id: int,
    cause: str,
    data: Mapping[str, Any],
    truth: ExitRecord | None = None,
    resume: ResumePoint | None = None,
) -> bool:
    """Ends an attempt that failed without the job's fault. The job waits again, or is stopped if a person wanted that.

    A job that is interrupted as soon as it begins waits longer each time and fails in the end. Ended attempts are
    fenced: whatever they report later changes nothing.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        attempt = load_current_attempt(session, attempt_id)
        if attempt is None:
            return False
        job = attempt.job
        data = {"node": attempt.node.name} | dict(data)
        free_units(session, [attempt], now)
        end_attempt(attempt, now, AttemptOutcome(job.state, cause, data))
        record_usage(session, attempt, truth)
        in_a_row = read_interruptions_in_a_row(session, attempt.job_id)
        end = outcome_after_interruptions(session, attempt, in_a_row, cause, data)
        if end is not None:
            end_job(session, job, now, now, end, end.data | {"attempt": attempt.number})
            write_job_end_events(session, [job], now)
        else:
            job.state = next_state(job.state, JobEventKind.INTERRUPTED)
            requeue_job(
                session,
                job,
                now,
                waiting_reason_after_interruption(attempt, in_a_row, now, cause),
                data,
                resume,
            )
    publish_jobs(cluster, attempt.job_id)
    return True


def outcome_after_interruptions(
    session: Session, attempt: Attempt, in_a_row: int, cause: str, data: Mapping[str, Any]
) -> AttemptOutcome | None:
    """The job's outcome if a person requested its stop or it was interrupted too often; None if it is requeued."""
    if attempt.job.desired is DesiredState.STOP:
        return with_requester_name(session, attempt.job, AttemptOutcome(JobState.STOPPED, "exit.stopped", {}))
    if in_a_row < MAX_INTERRUPTIONS_IN_A_ROW:
        return None
    why = dict(data) | {"cause": cause, "in_a_row": in_a_row}
    return AttemptOutcome(JobState.FAILED, "exit.interrupted_each_time", why)


def waiting_reason_after_interruption(
    attempt: Attempt, in_a_row: int, now: datetime, cause: str
) -> AttemptInterrupted | RetryBackoff:
    pause, node = backoff_after(in_a_row), attempt.node.name
    if not pause:
        return AttemptInterrupted(cause, attempt.number, node)
    seconds = round(pause.total_seconds())
    return RetryBackoff(cause, attempt.number, node, in_a_row, seconds, now + pause)


def load_current_attempt(session: Session, attempt_id: int) -> Attempt | None:
    return next(iter(load_current_attempts(session, [attempt_id])), None)


def load_current_attempts(session: Session, attempt_ids: Collection[int]) -> list[Attempt]:
    """Locks and returns the attempts with their jobs, without those that have ended or have a newer attempt.

    Both rows are locked, because a joined row without a lock would be read as it was before the wait. Jobs and nodes
    come with them in one statement.
    """
    found = session.execute(CURRENT_ATTEMPTS, {"ids": list(attempt_ids)}).all()
    for attempt, job, node in found:
        # The attempt keeps a reference to the row: a session forgets rows without a reference and would read them
        # again.
        set_committed_value(attempt, "job", job)
        set_committed_value(attempt, "node", node)
    return [attempt for attempt, _job, _node in found]


def free_units(session: Session, attempts: Sequence[Attempt], now: datetime) -> None:
    """Frees units before the attempts are changed, because a changed row would be written here and again at the end."""
    session.execute(FREE_UNITS, {"attempts": [attempt.id for attempt in attempts], "now": now})


def end_attempt(attempt: Attempt, ended_at: datetime, outcome: AttemptOutcome) -> None:
    attempt.state = AttemptState.ENDED
    attempt.ended_at = ended_at
    attempt.end_code, attempt.end_data = outcome.code, dict(outcome.data)
    attempt.exit_code = outcome.exit_code


def with_requester_name(session: Session, job: Job, outcome: AttemptOutcome) -> AttemptOutcome:
    """Adds the name of the person who requested the stop."""
    if outcome.state is not JobState.STOPPED or job.stopped_by is None:
        return outcome
    return replace(outcome, data=outcome.data | {"by": session.get_one(User, job.stopped_by).name})


def choose_end_time(truth: ExitRecord | None, attempt: Attempt, now: datetime) -> datetime:
    """The end time that the shim reported, limited to the time between start and now; without root the program could
    have forged it."""
    if truth is None or truth.ended_at is None:
        return now
    return max(min(truth.ended_at, now), attempt.started_at or attempt.created_at)


def record_usage(session: Session, attempt: Attempt, truth: ExitRecord | None) -> None:
    """Adds the attempt's usage to the job, once, at its end: sums, the highest peak, the mean over time."""
    if truth is None:
        return
    attempt.cpu_seconds, attempt.max_memory_bytes = truth.cpu_seconds, truth.max_rss_bytes
    attempt.average_memory_bytes = truth.average_rss_bytes
    attempt.unit_seconds_used, attempt.storage_bytes = truth.unit_seconds_used, truth.out_bytes
    former: list[Attempt] = []
    if attempt.number > 1:
        query = select(Attempt).where(Attempt.job_id == attempt.job_id, Attempt.id != attempt.id)
        former = list(session.scalars(query))
    sum_job_usage(attempt.job, [*former, attempt])


def sum_job_usage(job: Job, attempts: list[Attempt]) -> None:
    job.cpu_seconds = sum_known([each.cpu_seconds for each in attempts])
    job.unit_seconds_used = sum_known([each.unit_seconds_used for each in attempts])
    peaks = [each.max_memory_bytes for each in attempts if each.max_memory_bytes is not None]
    job.max_memory_bytes = max(peaks, default=None)
    stored = [each.storage_bytes for each in attempts if each.storage_bytes is not None]
    job.storage_bytes = sum(stored) if stored else None
    job.average_memory_bytes = mean_over_time(attempts)


def sum_known(parts: list[float | None]) -> float | None:
    """Adds what was measured and leaves out attempts without a value. None if nothing was measured."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def mean_over_time(attempts: list[Attempt]) -> int | None:
    weighed = [
        (each.average_memory_bytes, max(1.0, run_seconds(each.started_at, each.ended_at)))
        for each in attempts
        if each.average_memory_bytes is not None
    ]
    if not weighed:
        return None
    return int(sum(size * seconds for size, seconds in weighed) / sum(seconds for _, seconds in weighed))


def run_seconds(begin: datetime | None, end: datetime | None) -> float:
    return (end - begin).total_seconds() if begin and end else 0.0


def mark_sweep_on_failure(session: Session, job: Job, outcome: AttemptOutcome, now: datetime) -> None:
    """Marks the sweep of a failed job. It is called in the transaction that records the end."""
    cause = stop_code_of(outcome.state, outcome.code, outcome.data) if job.sweep_id is not None else None
    if cause is not None and job.sweep_id is not None:
        mark_sweep_stopped(session, job.sweep_id, now, cause, {"job_id": job.id})


def mark_sweep_stopped(
    session: Session, sweep_id: int, now: datetime, cause: str, data: dict[str, Any]
) -> bool:
    """Marks the sweep stopped; the first cause counts. Returns False if the sweep ignores failures or was stopped
    before."""
    marked = session.execute(
        update(Sweep)
        .where(Sweep.id == sweep_id, Sweep.stop_on_trouble, Sweep.stopped_at.is_(None))
        .values(stopped_at=now, stop_code=cause, stop_data=data, stopping=True)
        .returning(Sweep.id)
    )
    return marked.first() is not None
