"""Writes the events that no person's action causes: jobs that wait for long, and terms that end soon."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.orm import Session

from cluster.domain.notifications.events import TERM_STEPS, WaitWindow, term_step, wait_window
from cluster.domain.queue.reasons import AheadInQueue
from cluster.domain.states import JobState, NotificationKind, UserState
from cluster.domain.workspace_terms import days_left
from cluster.services.context import Cluster
from cluster.store.alerts import NotificationChoice, NotificationEvent
from cluster.store.jobs import Attempt, Job
from cluster.store.queue import QueueExplanation
from cluster.store.users import User
from cluster.store.workspaces import Workspace, WorkspaceMember

MOST_COUNTED = 1000


def find_periodic_events(cluster: Cluster, session: Session) -> list[dict[str, Any]]:
    """Returns rows of NotificationEvent, also those that are recorded already."""
    choices = session.scalars(
        select(NotificationChoice)
        .join(User, User.id == NotificationChoice.user_id)
        .where(User.state == UserState.ACTIVE)
    ).all()
    waiting = [choice for choice in choices if NotificationKind.JOB_WAITS in choice.kinds]
    ending = {choice.user_id for choice in choices if NotificationKind.TERM_ENDS in choice.kinds}
    rows = [row for choice in waiting if (row := find_long_waits(session, choice, cluster.clock()))]
    return rows + (find_ending_terms(cluster, session, ending) if ending else [])


def find_long_waits(session: Session, choice: NotificationChoice, now: datetime) -> dict[str, Any] | None:
    """Makes one event for all jobs whose wait has become long since the last event."""
    last = session.scalar(
        select(NotificationEvent)
        .where(
            NotificationEvent.user_id == choice.user_id, NotificationEvent.kind == NotificationKind.JOB_WAITS
        )
        .order_by(NotificationEvent.happened_at.desc())
        .limit(1)
    )
    told_until = datetime.fromisoformat(last.data["until"]) if last else None
    window = wait_window(choice.wait_hours, last.happened_at if last else None, told_until, now)
    if window is None:
        return None
    condition = is_in_window(choice.user_id, window)
    job = session.scalar(select(Job).where(*condition).order_by(waiting_since(), Job.id).limit(1))
    if job is None:
        return None
    jobs = session.scalar(
        select(func.count()).select_from(select(Job.id).where(*condition).limit(MOST_COUNTED).subquery())
    )
    return {
        "user_id": choice.user_id,
        "key": f"waits:{window.until.isoformat()}",
        "kind": NotificationKind.JOB_WAITS,
        "sweep_id": None,
        "data": {
            "code": "notification.job_waits" if jobs == 1 else "notification.jobs_wait",
            "data": {
                "job": job.id,
                "name": job.name,
                "seconds": choice.wait_hours * 3600,
                "others": (jobs or 1) - 1,
            },
            "details": read_waiting_reason(session, job),
            "path": f"/jobs/{job.id}" if jobs == 1 else "/jobs?state=waiting",
            "until": window.until.isoformat(),
        },
        "happened_at": now,
    }


def read_waiting_reason(session: Session, job: Job) -> list[list[Any]]:
    """Reads the reason that the scheduler wrote. A job behind others has none, because their number is counted on
    request.
    """
    written = session.get(QueueExplanation, job.id)
    if written is None or written.fence != job.fence or written.code == AheadInQueue.code:
        return []
    return [[written.code, written.data]]


def is_in_window(user_id: int, window: WaitWindow) -> tuple[ColumnElement[bool], ...]:
    """Conditions for jobs that the message is about. Of a sweep only the first job counts, because the others wait
    for each other.
    """
    since = waiting_since()
    conditions: tuple[ColumnElement[bool], ...] = (
        Job.user_id == user_id,
        Job.state == JobState.WAITING,
        Job.submitted_at <= window.until,
        or_(Job.sweep_number.is_(None), Job.sweep_number == 1),
        since <= window.until,
    )
    return conditions if window.after is None else (*conditions, since > window.after)


def waiting_since() -> ColumnElement[datetime]:
    """The time at which the job was submitted, or at which its last attempt ended."""
    last_end = select(func.max(Attempt.ended_at)).where(Attempt.job_id == Job.id).scalar_subquery()
    return case((Job.fence == 0, Job.submitted_at), else_=func.coalesce(last_end, Job.submitted_at))


def find_ending_terms(cluster: Cluster, session: Session, user_ids: set[int]) -> list[dict[str, Any]]:
    now, zone = cluster.clock(), cluster.settings.zone
    today = now.astimezone(zone).date()
    rows = session.execute(
        select(Workspace, WorkspaceMember.user_id)
        .join(WorkspaceMember, WorkspaceMember.workspace_id == Workspace.id)
        .where(
            WorkspaceMember.user_id.in_(user_ids),
            Workspace.starts_on <= today,
            Workspace.ends_on.between(today, today + timedelta(days=max(TERM_STEPS))),
            or_(Workspace.ended_at.is_(None), Workspace.ended_at > now),
        )
    )
    return [
        term_row(workspace, user_id, days, step, now)
        for workspace, user_id in rows
        if (step := term_step(days := days_left(workspace, now, zone))) is not None
    ]


def term_row(workspace: Workspace, user_id: int, days: int, step: int, now: datetime) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "key": f"term:{workspace.id}:{workspace.ends_on}:{step}",
        "kind": NotificationKind.TERM_ENDS,
        "sweep_id": None,
        "data": {
            "code": "attention.term_ends" if days else "attention.term_ends_today",
            "data": {"name": workspace.name, "days": days},
            "details": [["notification.last_day", {"on": workspace.ends_on.isoformat()}]],
            "path": f"/workspaces/{workspace.id}",
        },
        "happened_at": now,
    }
