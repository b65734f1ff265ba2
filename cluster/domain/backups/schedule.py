"""Decide when the nightly backup is due, and how old the newest backup may be."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

OLDEST_ACCEPTABLE = timedelta(hours=26)
"""A night and a patient backup: after that somebody has to know."""


def parse_time_of_day(text: str) -> time:
    """`HH:MM` on the installation's own clock. Raises ValueError."""
    if len(text) != len("HH:MM") or text[2] != ":":
        raise ValueError(text)
    return time.fromisoformat(text)


def last_due(now: datetime, zone: ZoneInfo, at: time) -> datetime:
    """The newest moment, in UTC and not after `now`, at which the local clock showed `at`."""
    today = now.astimezone(zone).date()
    for day in (today, today - timedelta(days=1)):
        moment = datetime.combine(day, at, zone).astimezone(UTC)
        if moment <= now:
            break
    return moment


def next_due(now: datetime, zone: ZoneInfo, at: time) -> datetime:
    """The first moment, in UTC and after `now`, at which the local clock shows `at`."""
    today = now.astimezone(zone).date()
    moments = (datetime.combine(today + timedelta(days=day), at, zone).astimezone(UTC) for day in range(3))
    return next(moment for moment in moments if moment > now)


def due_night(now: datetime, zone: ZoneInfo, at: time, asked_for: datetime) -> datetime | None:
    """The night that has not been asked for yet; of several missed ones the last alone.

    `asked_for` is the one that was asked for last. Where it is still to come the clock was set back since: a
    backup is owed, or none would be made until that day.
    """
    night = last_due(now, zone, at)
    return night if asked_for < night or asked_for > now else None
