"""Decide when a notebook that nobody uses is announced to be stopped, and when it is stopped."""

from dataclasses import dataclass
from datetime import datetime, timedelta

LONGEST_WARNING = timedelta(minutes=15)


@dataclass(frozen=True)
class InUse:
    """Nothing is to be done. An earlier announcement is withdrawn."""


@dataclass(frozen=True)
class Announce:
    """The person is told when the notebook will be stopped."""

    stops_at: datetime


@dataclass(frozen=True)
class StopIdle:
    """The notebook is stopped: its stop was announced, and nobody has used it since."""

    idle_since: datetime


IdleDecision = InUse | Announce | StopIdle


def warning_time(idle_limit: timedelta) -> timedelta:
    """Returns how long before the stop a person is told: at most half of the whole time."""
    return min(LONGEST_WARNING, idle_limit / 2)


def decide_idle(
    now: datetime, used_at: datetime, is_busy: bool, idle_limit: timedelta | None, stops_at: datetime | None
) -> IdleDecision:
    """`stops_at` is what was announced. `idle_limit` None: an idle notebook is never stopped.

    Nothing is stopped that was not announced for the whole warning time: after an outage of the scheduler the person is
    told of it first.
    """
    if idle_limit is None or is_busy:
        return InUse()
    is_due_at, warning = used_at + idle_limit, warning_time(idle_limit)
    if stops_at is None:
        return Announce(max(is_due_at, now + warning)) if now >= is_due_at - warning else InUse()
    if is_due_at > stops_at:
        return InUse()  # It was used after the announcement.
    return StopIdle(used_at) if now >= stops_at else Announce(stops_at)
