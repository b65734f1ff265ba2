"""Decides which events of jobs, sweeps and workspaces a person is told of."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cluster.domain.states import JobState, NotificationKind

JOB_ENDS = frozenset({NotificationKind.JOB_ENDED, NotificationKind.JOB_FAILED})
TERM_STEPS = (1, 7, 14)
"""How many days before the end of a term its people are told."""


def kind_of_job_end(state: JobState, user_id: int, stopped_by: int | None) -> NotificationKind | None:
    """Returns None if nobody is told: the job has not ended, or its own user has stopped it."""
    if state is JobState.FAILED:
        return NotificationKind.JOB_FAILED
    if state is JobState.STOPPED and stopped_by == user_id:
        return None
    return NotificationKind.JOB_ENDED if state in (JobState.FINISHED, JobState.STOPPED) else None


def is_sweep_told(
    kinds: Collection[NotificationKind], counts: Mapping[JobState, int], is_stopped_by_user: bool
) -> bool:
    """Whether people are told of the sweep now: once, when all of its jobs have ended. People who chose failures alone
    are told if a job failed.
    """
    if is_stopped_by_user:
        return False
    has_failed = counts.get(JobState.FAILED, 0) > 0
    return NotificationKind.JOB_ENDED in kinds or (NotificationKind.JOB_FAILED in kinds and has_failed)


@dataclass(frozen=True)
class WaitWindow:
    """Jobs whose wait began after `after` and not after `until` have waited for long, and their people have not been
    told.
    """

    after: datetime | None
    until: datetime


def wait_window(
    hours: int, told_at: datetime | None, told_until: datetime | None, now: datetime
) -> WaitWindow | None:
    """Returns None if the person was told less than `hours` ago.

    `told_at` is when the person was last told of waiting jobs, `told_until` the end of the window of that message.
    """
    if told_at is not None and now - told_at < timedelta(hours=hours):
        return None
    until = now - timedelta(hours=hours)
    return None if told_until is not None and told_until >= until else WaitWindow(told_until, until)


def term_step(days_left: int) -> int | None:
    """The step of TERM_STEPS that has begun last; None while the end is far away."""
    return next((step for step in TERM_STEPS if days_left <= step), None)
