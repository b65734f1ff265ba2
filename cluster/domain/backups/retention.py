"""Decide which backups are kept."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

DAYS, WEEKS, MONTHS = 7, 4, 12


@dataclass(frozen=True)
class StoredBackup:
    """A backup in its folder; `is_verified`: a restore has proved it, and it is still what was proved."""

    name: str
    made_at: datetime
    is_verified: bool


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
