"""Decide when the nightly backup is due, and how old the newest backup may be."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

OLDEST_ACCEPTABLE = timedelta(hours=26)
"""The time between two nights and the duration of a slow backup. After it an administrator is alerted."""


def parse_time_of_day(text: str) -> time:
    """Parses `HH:MM`, a time in the installation's time zone. Raises ValueError."""
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
    """The night for which a backup is due and not requested yet. If several were missed, it is the last one.

    `asked_for` is the night of the last request. If it is in the future, the clock was set back since then. A backup
    is due then, because otherwise none would be made until that night.
    """
    night = last_due(now, zone, at)
    return night if asked_for < night or asked_for > now else None
