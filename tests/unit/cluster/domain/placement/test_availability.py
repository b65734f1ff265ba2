"""Units of a node or a quota are free now, later, and beside what is reserved."""

from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from cluster.domain.placement.availability import (
    UNKNOWN_END,
    PlacementClock,
    UnitAvailability,
    availability_of,
    moment_as_datetime,
)
from cluster.domain.placement.types import RunningOnNode

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
START = NOW.timestamp()


def run(job_id: int, units: int, seconds: float | None) -> RunningOnNode:
    return RunningOnNode(job_id, 1, 1, units, None if seconds is None else NOW + timedelta(seconds=seconds))


def of_four(*runs: RunningOnNode) -> UnitAvailability:
    return availability_of(PlacementClock(START), 4, 4 - sum(each.units for each in runs), runs)


def test_units_come_back_at_the_ends_of_those_that_run() -> None:
    units = of_four(run(1, 2, 60), run(2, 1, 30))
    assert units.levels() == [(START, 1), (START + 30, 2), (START + 60, 4)]
    assert [units.earliest_with(number) - START for number in (1, 2, 3, 4)] == [0, 30, 60, 60]
    assert units.earliest_with(5) == inf
    assert units.most_units_from(START + 45) == 2


@pytest.mark.parametrize(("limit", "most"), [(None, 0), (10.0, 2), (20.0, 2), (21.0, 0)])
def test_beside_a_reservation_only_short_jobs_fit(limit: float | None, most: int) -> None:
    units = of_four(run(1, 2, 20))
    units.reserve(9, START + 20, None, 4)
    assert units.most_units_for(limit) == most
    assert units.fits(2, limit) is (most == 2)
    units.clear_reservations()
    assert units.most_units_for(limit) == 2


def test_two_unknown_ends_are_two_moments_and_a_passed_end_is_unknown() -> None:
    units = of_four(run(2, 1, None), run(1, 1, -5))
    assert [moment for moment, _ in units.ends] == [UNKNOWN_END, UNKNOWN_END + 1]
    assert units.earliest_with(3) == UNKNOWN_END
    assert moment_as_datetime(UNKNOWN_END, NOW) is None
    assert moment_as_datetime(START, NOW) == NOW


def test_units_are_taken_and_given_back() -> None:
    units = of_four()
    units.take_units(run(1, 3, 60))
    assert (units.free, units.longest_free_seconds(1), units.longest_free_seconds(2)) == (1, inf, 0)
    units.release_jobs({1})
    assert (units.free, units.ends) == (4, [])


def test_units_that_no_known_job_uses_come_back_one_by_one() -> None:
    units = availability_of(PlacementClock(START), 4, 2, [])
    assert [moment for moment, _ in units.ends] == [UNKNOWN_END, UNKNOWN_END + 1]
