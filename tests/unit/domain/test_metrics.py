"""Fewer points, and no spike and no gap lost."""

import random

import pytest

from cluster.domain.metrics import columns, thin


def test_a_short_line_stays_as_it_is() -> None:
    assert thin(([1, 2, 3], [0.5, None, 0.25]), 3) == ([1, 2, 3], [0.5, None, 0.25])
    assert thin(([], [])) == ([], [])


def test_a_long_line_keeps_its_spike_its_gap_and_its_ends() -> None:
    xs = list(range(100_000))
    ys: list[float | None] = [1.0] * 100_000
    ys[77_777], ys[5], ys[50_001] = 99.0, -99.0, None
    thin_xs, thin_ys = thin((xs, ys), 1000)
    assert len(thin_xs) <= 1003
    assert list(thin_xs) == sorted(thin_xs)
    points = dict(zip(thin_xs, thin_ys, strict=True))
    assert (points[77_777], points[5], points[50_001]) == (99.0, -99.0, None)
    assert {0, 99_999} <= set(thin_xs)


def test_the_same_line_gives_the_same_points() -> None:
    rng = random.Random(7)
    line = (list(range(5000)), [rng.random() for _ in range(5000)])
    assert thin(line, 100) == thin(line, 100)


def test_all_points_at_one_x_are_one_stretch() -> None:
    assert thin(([1.0] * 10, [float(y) for y in range(10)]), 4) == ([1.0, 1.0], [0.0, 9.0])


def test_a_line_of_gaps_alone() -> None:
    xs, ys = thin((list(range(10)), [None] * 10), 2)
    assert (list(xs), list(ys)) == ([0, 9], [None, None])


def test_columns_share_one_x() -> None:
    found = columns({"loss/train": ([1, 2, 3], [3.0, 2.0, None]), "loss/validation": ([2], [2.5])})
    assert found.x == [1, 2, 3]
    assert found.y == {"loss/train": [3.0, 2.0, None], "loss/validation": [None, 2.5, None]}
    assert found.gaps == {"loss/train": [3], "loss/validation": []}


@pytest.mark.parametrize("points", [1, 2, 10])
def test_hardly_any_points_are_still_points(points: int) -> None:
    xs, _ = thin((list(range(1000)), [float(y) for y in range(1000)]), points)
    assert 2 <= len(xs) <= 2 * points + 2
