"""Terms end with their last day, on the installation's clock; held units never pass the cluster's."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.domain import workspace_terms
from cluster.domain.errors import Refused
from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import PeakDay, Term

SEOUL = ZoneInfo("Asia/Seoul")


@dataclass(frozen=True)
class Workspace:
    starts_on: date = date(2026, 11, 10)
    ends_on: date = date(2026, 11, 20)
    ended_at: datetime | None = None


def seoul(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=SEOUL).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "state", "left"),
    [
        (seoul(9, 23, 59), WorkspaceState.SCHEDULED, 10),
        (seoul(10, 0), WorkspaceState.ACTIVE, 10),
        (seoul(15, 12), WorkspaceState.ACTIVE, 5),
        (seoul(20, 0), WorkspaceState.ACTIVE, 0),
        (seoul(20, 23, 59), WorkspaceState.ACTIVE, 0),
        (seoul(21, 0), WorkspaceState.EXPIRED, 0),
    ],
)
def test_the_last_day_is_inclusive_where_people_live(now: datetime, state: WorkspaceState, left: int) -> None:
    assert workspace_terms.workspace_state(Workspace(), now, SEOUL) is state
    assert workspace_terms.days_left(Workspace(), now, SEOUL) == left


def test_ended_early_is_expired_from_that_moment() -> None:
    ended = Workspace(ended_at=seoul(12, 12))
    assert workspace_terms.workspace_state(ended, seoul(12, 11), SEOUL) is WorkspaceState.ACTIVE
    assert workspace_terms.workspace_state(ended, seoul(12, 12), SEOUL) is WorkspaceState.EXPIRED
    assert workspace_terms.days_left(ended, seoul(12, 12), SEOUL) == 0


def test_a_term_begins_at_midnight() -> None:
    assert workspace_terms.starts_at(Workspace(), SEOUL) == seoul(10, 0)


@pytest.mark.parametrize(
    ("starts", "ends", "code"),
    [
        (date(2026, 11, 10), date(2026, 11, 9), "term.ends_before_start"),
        (date(2026, 11, 1), date(2026, 11, 9), "term.in_the_past"),
        (date(2026, 11, 1), date(2046, 11, 1), "term.too_long"),
    ],
)
def test_impossible_terms_are_refused(starts: date, ends: date, code: str) -> None:
    with pytest.raises(Refused) as refused:
        workspace_terms.check_term(starts, ends, date(2026, 11, 10))
    assert (refused.value.code, refused.value.field) == (code, "ends_on")


def test_a_term_of_one_day_is_a_term() -> None:
    today = date(2026, 11, 10)
    assert workspace_terms.check_term(today, today, today) == Term(today, today, 0)


def term(first: int, last: int, units: int) -> Term:
    return Term(date(2026, 11, first), date(2026, 11, last), units)


@pytest.mark.parametrize(
    ("held", "new", "peak"),
    [
        ([], term(1, 30, 0), PeakDay(date(2026, 11, 1), 0)),
        ([term(1, 5, 2)], term(6, 9, 0), PeakDay(date(2026, 11, 6), 0)),
        ([term(1, 6, 2)], term(6, 9, 0), PeakDay(date(2026, 11, 6), 2)),
        ([term(1, 10, 2), term(8, 20, 3), term(11, 30, 4)], term(5, 30, 0), PeakDay(date(2026, 11, 11), 7)),
        ([term(1, 10, 2), term(8, 20, 3), term(11, 30, 4)], term(5, 10, 0), PeakDay(date(2026, 11, 8), 5)),
        ([term(1, 30, 2), term(1, 30, 2)], term(9, 9, 0), PeakDay(date(2026, 11, 9), 4)),
    ],
)
def test_the_worst_day_is_found(held: list[Term], new: Term, peak: PeakDay) -> None:
    assert workspace_terms.peak_of_overlap(held, new) == peak


def test_units_that_fit_are_held() -> None:
    assert workspace_terms.check_units_fit([term(1, 10, 2)], term(5, 20, 2), 4) == 2
    assert workspace_terms.check_units_fit([term(1, 10, 9)], term(5, 20, 0), 4) == 0


def test_units_that_do_not_fit_are_refused_with_the_day() -> None:
    with pytest.raises(Refused) as refused:
        workspace_terms.check_units_fit([term(1, 10, 3)], term(5, 20, 2), 4, "cpu_slot")
    assert refused.value.field == "units"
    assert refused.value.data == {
        "units": 2,
        "capacity": 4,
        "worst_day": "2026-11-05",
        "held": 3,
        "left": 1,
        "kind": "cpu_slot",
    }
    with pytest.raises(Refused, match="units_negative"):
        workspace_terms.check_units_fit([], term(5, 20, -1), 4)


def test_an_extension_counts_days() -> None:
    assert workspace_terms.extended_by_days(date(2026, 11, 20), 14) == date(2026, 12, 4)


some_terms = st.builds(
    lambda first, days, units: term(first, min(28, first + days), units),
    st.integers(1, 28), st.integers(0, 27), st.integers(0, 9),
)  # fmt: skip


@given(st.lists(some_terms, max_size=8), some_terms, st.integers(0, 30))
def test_no_day_is_ever_overbooked(held: list[Term], new: Term, capacity: int) -> None:
    """Counted day by day, which is slower and plainly right."""
    days = [date(2026, 11, day) for day in range(new.starts_on.day, new.ends_on.day + 1)]
    worst = max(sum(one.units for one in held if one.starts_on <= day <= one.ends_on) for day in days)
    assert workspace_terms.peak_of_overlap(held, new).units == worst
    try:
        workspace_terms.check_units_fit(held, new, capacity)
        fits = True
    except Refused:
        fits = False
    assert fits == (new.units == 0 or worst + new.units <= capacity)
