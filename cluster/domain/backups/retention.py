"""Decide which backups are kept."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

DAYS, WEEKS, MONTHS = 7, 4, 12


@dataclass(frozen=True)
class StoredBackup:
    """A backup in its folder. `is_verified`: a drill has verified it, and its file has not changed since."""

    name: str
    made_at: datetime
    is_verified: bool


def surplus_backups(backups: Iterable[StoredBackup], zone: ZoneInfo) -> set[str]:
    """The names of the backups that may be deleted.

    The newest verified backup stays for each of the last 7 days, 4 weeks and 12 months that have one, so the last
    verified one always stays. An unverified backup may be deleted once there is a verified one that is 7 days newer.
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
    """The copies of replaced databases that may be deleted, oldest first: all that are older than `days`, except the
    newest.
    """
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
