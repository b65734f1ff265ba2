"""How long a job was in each state, and how many unit hours it held (T14)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cluster.domain.errors import Refused
from cluster.domain.states import JobState


@dataclass(frozen=True)
class StateChange:
    """From `at` on the job was in `state`."""

    at: datetime
    state: JobState


@dataclass(frozen=True)
class Holding:
    """Units held from `begun_at` until `ended_at` (None: still)."""

    units: int
    begun_at: datetime
    ended_at: datetime | None


def seconds_in_states(
    changes: Sequence[StateChange], ended_at: datetime | None, now: datetime
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


def unit_hours(holdings: Sequence[Holding], now: datetime) -> float:
    """Units times hours over all attempts, the living one up to now."""
    seconds = (
        holding.units * max(0.0, ((holding.ended_at or now) - holding.begun_at).total_seconds())
        for holding in holdings
    )
    return sum(seconds) / 3600


@dataclass(frozen=True, order=True)
class Month:
    """A calendar month of the installation's time zone."""

    year: int
    month: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"

    def begins(self, zone: ZoneInfo) -> datetime:
        """Aware UTC; the day that a clock is changed is as long as it was."""
        return datetime(self.year, self.month, 1, tzinfo=zone).astimezone(UTC)

    def ends(self, zone: ZoneInfo) -> datetime:
        """The first moment of the next month."""
        return self.next().begins(zone)

    def next(self) -> "Month":
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    def before(self) -> "Month":
        return Month(self.year - (self.month == 1), (self.month - 2) % 12 + 1)


def month_of(now: datetime, zone: ZoneInfo) -> Month:
    local = now.astimezone(zone)
    return Month(local.year, local.month)


def parse_month(text: str, field: str = "month") -> Month:
    """`2026-11`; raises Refused."""
    found = re.fullmatch(r"(20[0-9]{2})-(0[1-9]|1[0-2])", text)
    if found is None:
        raise Refused(field, "accounting.bad_month", value=text[:40])
    return Month(int(found[1]), int(found[2]))
