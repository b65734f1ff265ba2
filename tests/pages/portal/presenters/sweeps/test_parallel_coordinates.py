"""Parallel coordinates: words and few values at equal distances, many numbers by their size."""

from portal.presenters.sweeps.parallel_coordinates import (
    BOTTOM,
    HEIGHT,
    TOP,
    AxisSource,
    make_scale,
    path_through,
)

SOURCE = AxisSource("x", lambda entry: None, str)
MEASURED = AxisSource("x", lambda entry: None, str, is_measured=True)


def test_few_values_stand_at_equal_distances_in_their_order() -> None:
    scale = make_scale(SOURCE, ["0.1", "10", "1", "1"])
    assert [tick.text for tick in scale.ticks] == ["0.1", "1", "10"]
    assert [scale.y(text) for text in ("0.1", "1", "10")] == [
        HEIGHT - BOTTOM,
        (TOP + HEIGHT - BOTTOM) / 2,
        TOP,
    ]


def test_measurements_stand_by_their_size() -> None:
    scale = make_scale(MEASURED, [1.0, 2.0, 5.0])
    assert (scale.y(1.0), scale.y(3.0), scale.y(5.0)) == (HEIGHT - BOTTOM, (TOP + HEIGHT - BOTTOM) / 2, TOP)
    assert len(make_scale(MEASURED, [2.0, 2.0]).ticks) == 1
    rounded = AxisSource("x", lambda entry: None, lambda value: f"{int(value)} s", is_measured=True)
    assert [tick.text for tick in make_scale(rounded, [1.0, 2.0]).ticks] == ["1 s", "2 s"]


def test_a_line_is_level_at_each_axis() -> None:
    assert path_through([0, 10], [1, 5]) == "M0 1C5.0 1 5.0 5 10 5"
