"""Compute how long a job was in each state and how many unit hours it held."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from cluster.domain.errors import Refused
from cluster.domain.states import JobState


@dataclass(frozen=True)
class JobStateChange:
    """The job was in `state` from `at` on."""

    at: datetime
    state: JobState


@dataclass(frozen=True)
class UnitHolding:
    """Units held from `begun_at` until `ended_at` (None: still)."""

    units: int
    begun_at: datetime
    ended_at: datetime | None


def seconds_in_states(
    changes: Sequence[JobStateChange], ended_at: datetime | None, now: datetime
) -> dict[JobState, float]:
    """Seconds in each state that the job was in, in the order of their first appearance."""
    spent: dict[JobState, float] = {}
    ordered = sorted(changes, key=lambda change: change.at)
    until = [*(change.at for change in ordered[1:]), ended_at or now]
    for change, end in zip(ordered, until, strict=False):
        if change.state in (JobState.FINISHED, JobState.FAILED, JobState.STOPPED):
            continue
        seconds = max(0.0, (end - change.at).total_seconds())
        spent[change.state] = spent.get(change.state, 0.0) + seconds
    return spent


def unit_hours(holdings: Sequence[UnitHolding], now: datetime) -> float:
    """Units times hours over all attempts. A live attempt counts up to now."""
    seconds = (
        holding.units * max(0.0, ((holding.ended_at or now) - holding.begun_at).total_seconds())
        for holding in holdings
    )
    return sum(seconds) / 3600


@dataclass(frozen=True, order=True)
class CalendarMonth:
    """A calendar month of the installation's time zone."""

    year: int
    month: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"

    def starts_at(self, zone: ZoneInfo) -> datetime:
        """The first moment of the month, aware UTC. A day on which the clock changes has its real length."""
        return datetime(self.year, self.month, 1, tzinfo=zone).astimezone(UTC)

    def ends_at(self, zone: ZoneInfo) -> datetime:
        """The first moment of the next month."""
        return self.next().starts_at(zone)

    def next(self) -> "CalendarMonth":
        return CalendarMonth(self.year + self.month // 12, self.month % 12 + 1)

    def before(self) -> "CalendarMonth":
        return CalendarMonth(self.year - (self.month == 1), (self.month - 2) % 12 + 1)


def month_of(now: datetime, zone: ZoneInfo) -> CalendarMonth:
    local = now.astimezone(zone)
    return CalendarMonth(local.year, local.month)


def parse_month(text: str, field: str = "month") -> CalendarMonth:
    """Parses `2026-11`. Raises Refused."""
    found = re.fullmatch(r"(20[0-9]{2})-(0[1-9]|1[0-2])", text)
    if found is None:
        raise Refused(field, "accounting.bad_month", value=text[:40])
    return CalendarMonth(int(found[1]), int(found[2]))


@dataclass(frozen=True)
class CalendarDay:
    """A day of the installation's time zone with its first moment and that of the next day, aware UTC."""

    day: date
    starts_at: datetime
    ends_at: datetime


def last_days(count: int, now: datetime, zone: ZoneInfo) -> tuple[CalendarDay, ...]:
    """The last `count` days, today being the last one. A day on which the clock changes has its real length."""
    today = now.astimezone(zone).date()
    days = [today - timedelta(days=back) for back in range(count - 1, -1, -1)]
    return tuple(
        CalendarDay(day, first_moment(day, zone), first_moment(day + timedelta(days=1), zone)) for day in days
    )


def first_moment(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)
