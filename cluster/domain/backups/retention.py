"""Decide when the nightly backup is due and which backups are kept."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

DAYS, WEEKS, MONTHS = 7, 4, 12
OLDEST_ACCEPTABLE = timedelta(hours=26)
"""A night and a patient backup: after that somebody has to know."""


@dataclass(frozen=True)
class StoredBackup:
    """A backup in its folder; `is_verified`: a restore has proved it, and it is still what was proved."""

    name: str
    made_at: datetime
    is_verified: bool


@dataclass(frozen=True)
class BackupProblem:
    """What is wrong with a backup or with its copy; `code` has words in both languages."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


def parse_backup_problem(value: Any) -> BackupProblem | None:
    """As a manifest or a row keeps it; None where nothing is wrong. The oldest ones keep a text.

    Raises KeyError, TypeError.
    """
    if not value:
        return None
    if isinstance(value, str):
        return BackupProblem("broken.said", {"said": value})
    return BackupProblem(str(value["code"]), dict(value["data"]))


def parse_time_of_day(text: str) -> time:
    """`HH:MM` on the installation's own clock. Raises ValueError."""
    if len(text) != len("HH:MM"):
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


def surplus_backups(backups: Iterable[StoredBackup], zone: ZoneInfo) -> set[str]:
    """The names of those that may go.

    The newest verified one stays of each of the last 7 days, 4 weeks and 12 months that have one, so that the last
    verified one always stays. What is not verified fills no such place: it goes once a verified one is 7 days newer.
    """
    found = sorted(backups, key=lambda backup: backup.made_at, reverse=True)
    verified = [backup for backup in found if backup.is_verified]
    stay: set[str] = set()
    for most, period_of in PERIODS:
        newest: dict[tuple[int, ...], str] = {}
        for backup in verified:
            newest.setdefault(period_of(backup.made_at.astimezone(zone)), backup.name)
        stay.update(list(newest.values())[:most])
    for backup in found:
        if not backup.is_verified and not is_superseded(backup, verified):
            stay.add(backup.name)
    return {backup.name for backup in found} - stay


def expired_pre_restore_copies(made: Mapping[Any, datetime], now: datetime, days: int) -> list[Any]:
    """Which of what restores have put aside may go, oldest first: all older than `days` but the newest."""
    found = sorted(made, key=lambda each: made[each])
    return [each for each in found[:-1] if now - made[each] > timedelta(days=days)]


def is_superseded(backup: StoredBackup, verified: list[StoredBackup]) -> bool:
    return bool(verified) and verified[0].made_at - backup.made_at > timedelta(days=DAYS)


def day_key(local: datetime) -> tuple[int, ...]:
    return (local.year, local.month, local.day)


def week_key(local: datetime) -> tuple[int, ...]:
    return tuple(local.isocalendar()[:2])


def month_key(local: datetime) -> tuple[int, ...]:
    return (local.year, local.month)


PERIODS: tuple[tuple[int, Callable[[datetime], tuple[int, ...]]], ...] = (
    (DAYS, day_key),
    (WEEKS, week_key),
    (MONTHS, month_key),
)
