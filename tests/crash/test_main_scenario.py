"""A story survives a death at the first passing of each of its points: on PostgreSQL at each third, on SQLite at
the others. `make crash` has it die at all of them on both."""

from collections.abc import Sequence

import pytest

from tests.crash.installation import Ground
from tests.crash.interleavings import one_cancel, one_pause
from tests.crash.scenario.main_scenario import SHORT
from tests.crash.sweep import WHOLE, first_of_each, list_points, random_kills, some_of, sweep

SEEDS = (20261120, 42)


def test_a_death_at_each_point_changes_nothing(ground: Ground) -> None:
    numbers = share_of(ground, first_of_each(list_points(ground, SHORT)))
    report = sweep(ground, "main story", SHORT, numbers)
    print(report.line())
    assert not report.wrong
    assert report.kills == len(numbers)


def share_of(ground: Ground, numbers: Sequence[int]) -> Sequence[int]:
    """Both databases pass the same points, so that each of them is tried on one."""
    if WHOLE:
        return numbers
    return [number for place, number in enumerate(numbers) if (place % 3 == 0) is not ground.is_sqlite]


@pytest.mark.long
def test_several_deaths_at_random_points_change_nothing(ground: Ground) -> None:
    report = random_kills(ground, "random kills", SHORT, SEEDS)
    print(report.line())
    assert not report.wrong


def test_a_scheduler_that_stood_still_changes_nothing_after_another_took_over(ground: Ground) -> None:
    points = list_points(ground, SHORT)
    report = sweep(ground, "second scheduler", SHORT, some_of(first_of_each(points)[5:], 8), one_pause)
    print(report.line())
    assert not report.wrong


def test_a_cancel_at_any_moment_gives_one_end(ground: Ground) -> None:
    points = list_points(ground, SHORT)
    report = sweep(ground, "cancel", SHORT, some_of(first_of_each(points)[5:], 8), one_cancel)
    print(report.line())
    assert not report.wrong
