"""The main story survives a death at each of its points; here at the first passing of each."""

from tests.crash.ground import Ground
from tests.crash.races import one_cancel, one_pause
from tests.crash.story import SHORT
from tests.crash.sweep import first_of_each, list_points, random_kills, sweep

SEEDS = (20261120, 42)


def test_a_death_at_each_point_changes_nothing(ground: Ground) -> None:
    numbers = first_of_each(list_points(ground, SHORT))
    report = sweep(ground, "main story", SHORT, numbers)
    print(report.line())
    assert not report.wrong
    assert len(report.points) > 20


def test_several_deaths_at_random_points_change_nothing(ground: Ground) -> None:
    report = random_kills(ground, "random kills", SHORT, SEEDS)
    print(report.line())
    assert not report.wrong


def test_a_scheduler_that_stood_still_changes_nothing_after_another_took_over(ground: Ground) -> None:
    points = list_points(ground, SHORT)
    report = sweep(ground, "second scheduler", SHORT, first_of_each(points)[5::4], one_pause)
    print(report.line())
    assert not report.wrong


def test_a_cancel_at_any_moment_gives_one_end(ground: Ground) -> None:
    points = list_points(ground, SHORT)
    report = sweep(ground, "cancel", SHORT, first_of_each(points)[5::4], one_cancel)
    print(report.line())
    assert not report.wrong
