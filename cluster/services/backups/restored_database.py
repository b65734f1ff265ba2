"""Prepares a restored database for use: ends live attempts, holds waiting jobs, ends sessions, and skips ids that
were given out since the backup.

No other process has it open. Everything is one transaction except the seals, which can be repeated.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, literal, select, text, update
from sqlalchemy.orm import Session

from cluster.domain.audit_seals import derive_seal_key, epoch_mac
from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.jobs.lifecycle import next_state
from cluster.domain.people.actor import Actor
from cluster.domain.queue.reasons import JobOnHold, to_waiting_data
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import DesiredState, JobState, NotificationState, OperationKind, OperationState
from cluster.services.audit.epochs import EPOCH_ACTION, update_digest
from cluster.services.audit.seals import SealAnchor, find_first_violation, read_chain, seal_entries
from cluster.services.context import Cluster
from cluster.services.jobs.attempts import EVENT_OF_END, end_attempt, free_units, with_requester_name
from cluster.services.jobs.events import add_job_event
from cluster.services.notifications.messages import drop_waiting_events
from cluster.services.people.users import service_actor
from cluster.store.alerts import Notification
from cluster.store.audit import add_audit_entry
from cluster.store.base import Json
from cluster.store.datasets import Dataset
from cluster.store.jobs import Attempt, Job, JobEvent, Sweep
from cluster.store.leases import Lease
from cluster.store.operations import Operation
from cluster.store.repairs import RepairLock, RepairRun
from cluster.store.trainings import Training
from cluster.store.users import OneTimeSecret, SignInSession, User
from cluster.store.workspaces import Workspace

ID_GAP = 1000
"""The number of ids that are skipped, because ids given out between backup and restore name folders and pages."""
ROWS_WITH_PUBLIC_IDS = (Job, Sweep, User, Workspace, Dataset, Training, Operation, RepairRun)
"""Rows whose ids name folders. On servers a client of the repair broker may not delete folders from before the
restore.
"""
SELF_REPEATING_KINDS = (OperationKind.BACKUP, OperationKind.NOTICES)
"""Operations that are requested again anyway. Each backup contains its own operation as running, and notifications
are checked each minute.
"""
OPEN_STATES = (OperationState.REQUESTED, OperationState.RUNNING)


@dataclass(frozen=True)
class RestoredBackup:
    """The origin of the data. `last_job` is the highest number of a job whose files are on this machine."""

    name: str
    sha256: str
    made_at: datetime
    last_job: int = 0


@dataclass(frozen=True)
class RestoreCounts:
    """The number of changed rows of each kind. `audit` is the code of what was wrong with the access log before the
    new epoch.
    """

    lost: int
    held: int
    sessions: int
    operations: int
    epoch: int
    audit: str


def prepare_restored_database(
    cluster: Cluster, origin: RestoredBackup, anchors: list[SealAnchor], holds: bool = True
) -> RestoreCounts:
    """Prepares the database. If `holds` is set, waiting jobs are held, because each may have run since the backup."""
    actor, now = service_actor(cluster), cluster.clock()
    epoch = describe_old_epoch(cluster, origin, anchors)
    with cluster.store.write(lock="placement") as session:
        lost = end_live_attempts(session, origin, now)
        held = hold_waiting_jobs(session, actor, origin, now) if holds else 0
        operations = interrupt_operations(session, now)
        sessions = end_all_sessions(session, now)
        # These notifications have been delivered since, or are outdated.
        session.execute(delete(Notification).where(Notification.state == NotificationState.WAITING))
        drop_waiting_events(session, now)
        session.execute(update(Lease).values(holder="", fence=Lease.fence + 1, expires_at=now))
        skip_ids(session, origin.last_job)
        counts: dict[str, Any] = {"lost": lost, "held": held, "sessions": sessions, "operations": operations}
        add_audit_entry(session, now, actor, "backup.restored", None, name=origin.name, **counts)
        add_audit_entry(session, now, actor, EPOCH_ACTION, None, **epoch)
    # No other process writes, so all entries have settled.
    seal_entries(cluster, settled_after=timedelta(microseconds=-1))
    return RestoreCounts(lost, held, sessions, operations, epoch["epoch"], epoch["was"])


def describe_old_epoch(cluster: Cluster, origin: RestoredBackup, anchors: list[SealAnchor]) -> dict[str, Any]:
    """The data of the entry that begins the new epoch."""
    wrong = find_first_violation(cluster, [])
    running, known, epochs, last = hashlib.sha256(), {0: ""}, 1, 0
    for seal, entries in read_chain(cluster):
        update_digest(running, seal, entries)
        known[seal.number], last = seal.mac, seal.digests[-1][0]
        epochs += sum(entry["action"] == EPOCH_ACTION for entry in entries)
    said = {
        "epoch": epochs + 1,
        "name": origin.name,
        "sha256": origin.sha256,
        "made_at": origin.made_at.isoformat(),
        "seal": max(known),
        "last": last,
        "digest": running.hexdigest(),
        "left": [each.place for each in anchors if known.get(each.number) != each.mac],
        "was": wrong.code if wrong else "",
    }
    return said | {"mac": epoch_mac(derive_seal_key(cluster.settings.seal_secret), said)}


def end_live_attempts(session: Session, origin: RestoredBackup, now: datetime) -> int:
    """Ends the attempts that were live in the backup at its time: their later fate is unknown and no time is charged
    for it."""
    living = session.scalars(select(Attempt).where(Attempt.ended_at.is_(None))).all()
    free_units(session, living, origin.made_at)
    for attempt in living:
        job = attempt.job
        state = JobState.STOPPED if job.desired is DesiredState.STOP else JobState.FAILED
        code = "exit.stopped" if state is JobState.STOPPED else "exit.restored"
        data = {"name": origin.name, "at": origin.made_at.isoformat()}
        outcome = with_requester_name(
            session, job, AttemptOutcome(state, code, data if state is JobState.FAILED else {})
        )
        end_attempt(attempt, origin.made_at, outcome)
        job.state = next_state(job.state, EVENT_OF_END[state])
        job.ended_at, job.end_code, job.end_data = origin.made_at, outcome.code, dict(outcome.data)
        add_job_event(
            session, job, now, job.state, outcome.code, dict(outcome.data) | {"attempt": attempt.number}
        )
    return len(living)


def hold_waiting_jobs(session: Session, actor: Actor, origin: RestoredBackup, now: datetime) -> int:
    """Holds all waiting jobs with two statements."""
    waiting = (Job.state == JobState.WAITING, Job.held_at.is_(None))
    reason = JobOnHold(actor.name, now)
    data = {"name": origin.name, "at": origin.made_at.isoformat()}
    lines = select(
        Job.id, literal(now, JobEvent.at.type), literal(JobState.WAITING.value),
        literal("job.held_by_restore"), literal(data, Json),
    ).where(*waiting)  # fmt: skip
    session.execute(insert(JobEvent).from_select(["job_id", "at", "state", "code", "data"], lines))
    held = session.execute(
        update(Job)
        .where(*waiting)
        .values(
            held_at=now, held_by=actor.user_id, waiting_code=reason.code, waiting_data=to_waiting_data(reason)
        )
    )
    return int(held.rowcount)  # type: ignore[attr-defined]


def interrupt_operations(session: Session, now: datetime) -> int:
    """Interrupts operations and returns their number. Only the environment's build is repeated, because no job can
    start without it.
    """
    ended = 0
    for operation in session.scalars(select(Operation).where(Operation.state.in_(OPEN_STATES))):
        operation.lease_until = None
        if operation.kind == OperationKind.ENVIRONMENT_BUILD:
            operation.state = OperationState.REQUESTED
            continue
        if operation.kind in SELF_REPEATING_KINDS:
            operation.state, operation.ended_at = OperationState.FINISHED, now
            continue
        # The run of a repair ends below and cannot continue. A person has to request another one.
        is_over = operation.kind == OperationKind.REPAIR
        operation.state = OperationState.FAILED if is_over else OperationState.INTERRUPTED
        operation.ended_at = now
        operation.error_code, operation.error_data = "operation.restored", {}
        ended += 1
    session.execute(
        update(RepairRun)
        .where(RepairRun.ended_at.is_(None))
        .values(ended_at=now, verdict=RepairVerdict.BROKEN)
    )
    session.execute(update(RepairLock).where(RepairLock.released_at.is_(None)).values(released_at=now))
    return ended


def end_all_sessions(session: Session, now: datetime) -> int:
    """Ends all sessions and invalidates all unused links, which may have been used since."""
    unused = (OneTimeSecret.used_at.is_(None), OneTimeSecret.expires_at > now)
    session.execute(update(OneTimeSecret).where(*unused).values(expires_at=now))
    living = (SignInSession.ended_at.is_(None), SignInSession.expires_at > now)
    done = session.execute(update(SignInSession).where(*living).values(ended_at=now))
    return int(done.rowcount)  # type: ignore[attr-defined]


def skip_ids(session: Session, last_job: int) -> None:
    """Raises the id sequences, so that no public id and no folder name is given out twice."""
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    for row in ROWS_WITH_PUBLIC_IDS:
        name = row.__tablename__
        used = session.scalar(select(row.id).order_by(row.id.desc()).limit(1)) or 0
        if is_sqlite:
            given = session.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": name})
        else:
            given = session.scalar(text(f"SELECT last_value FROM {name}_id_seq"))
        following = max(used, given or 0, last_job if row is Job else 0) + ID_GAP
        if not is_sqlite:
            session.execute(
                text("SELECT setval(:name, :value)"), {"name": f"{name}_id_seq", "value": following}
            )
            continue
        session.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": name})
        session.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :value)"),
            {"name": name, "value": following},
        )
