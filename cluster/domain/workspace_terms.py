"""Terms of workspaces: whole days in the installation's time zone, first and last day inclusive."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from cluster.domain.errors import Refused
from cluster.domain.states import WorkspaceState

LONGEST_TERM_DAYS = 3660


class HasTerm(Protocol):
    """The fields of a workspace's row that are needed here."""

    @property
    def starts_on(self) -> date: ...

    @property
    def ends_on(self) -> date: ...

    @property
    def ended_at(self) -> datetime | None: ...


@dataclass(frozen=True)
class Term:
    """Units that are held from the first to the last day, both inclusive."""

    starts_on: date
    ends_on: date
    units: int


@dataclass(frozen=True)
class PeakDay:
    """The day on which most units are held, and their number."""

    day: date
    units: int


def workspace_state(workspace: HasTerm, now: datetime, zone: ZoneInfo) -> WorkspaceState:
    """`now` is aware. The current day is that of the installation's time zone."""
    if workspace.ended_at is not None and workspace.ended_at <= now:
        return WorkspaceState.EXPIRED
    today = now.astimezone(zone).date()
    if today < workspace.starts_on:
        return WorkspaceState.SCHEDULED
    return WorkspaceState.ACTIVE if today <= workspace.ends_on else WorkspaceState.EXPIRED


def days_left(workspace: HasTerm, now: datetime, zone: ZoneInfo) -> int:
    """The days after today. It is 0 on the last day and afterwards."""
    if workspace_state(workspace, now, zone) is WorkspaceState.EXPIRED:
        return 0
    today = now.astimezone(zone).date()
    return max(0, (workspace.ends_on - max(today, workspace.starts_on)).days)


def starts_at(workspace: HasTerm, zone: ZoneInfo) -> datetime:
    """The first moment of the first day."""
    return datetime.combine(workspace.starts_on, datetime.min.time(), zone)


def check_term(starts_on: date, ends_on: date, today: date) -> Term:
    """Raises Refused if the last day is before the first one or in the past, or the term is longer than ten years."""
    if ends_on < starts_on:
        raise Refused("ends_on", "term.ends_before_start", starts_on=starts_on.isoformat())
    if ends_on < today:
        raise Refused("ends_on", "term.in_the_past", today=today.isoformat())
    if (ends_on - starts_on).days > LONGEST_TERM_DAYS:
        raise Refused("ends_on", "term.too_long", most=LONGEST_TERM_DAYS)
    return Term(starts_on, ends_on, 0)


def peak_of_overlap(terms: Sequence[Term], new: Term) -> PeakDay:
    """The largest number of units held by `terms` on one day of the new term, and the first such day."""
    days = {new.starts_on}
    days |= {t.starts_on for t in terms if new.starts_on <= t.starts_on <= new.ends_on}
    sums = [
        PeakDay(day, sum(t.units for t in terms if t.starts_on <= day <= t.ends_on)) for day in sorted(days)
    ]
    return max(sums, key=lambda peak: peak.units)


def check_units_fit(terms: Sequence[Term], new: Term, capacity: int, kind: str = "gpu") -> int:
    """Returns the new term's units if they and all overlapping terms fit into the cluster. Raises Refused.

    `terms` are those of other workspaces that have not ended; `capacity` is from `count_working_units`.
    """
    if new.units < 0:
        raise Refused("units", "workspace.units_negative", kind=kind)
    peak = peak_of_overlap(terms, new)
    if new.units and peak.units + new.units > capacity:
        raise Refused(
            "units",
            "workspace.units_over_capacity",
            units=new.units,
            capacity=capacity,
            worst_day=peak.day.isoformat(),
            held=peak.units,
            left=max(0, capacity - peak.units),
            kind=kind,
        )
    return new.units


def extended_by_days(ends_on: date, days: int) -> date:
    """The last day after an extension by whole days."""
    return ends_on + timedelta(days=days)
