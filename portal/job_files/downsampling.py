"""Downsamples curves for graphs; the lowest and the highest point of each range stay, so that no spike disappears."""

from collections.abc import Mapping, Sequence

CurvePoints = tuple[Sequence[float], Sequence[float | None]]


def downsample(points: CurvePoints, ranges: int) -> tuple[list[float], list[float | None]]:
    """At most 4 points per stretch of x: its first, lowest, highest and last, in their order.

    A value that is no number (None) is news and stays as one of them. x must rise; what does not rise
    any more (a program that restarted its count) begins a new curve in the same place and is left out.
    """
    xs, ys = rising_points(points)
    if len(xs) <= 4 * ranges:
        return xs, ys
    first, width = xs[0], (xs[-1] - xs[0]) / ranges
    points_shown: list[int] = []
    begin = 0
    for number in range(1, ranges + 1):
        limit = first + number * width
        end = begin
        while end < len(xs) and (xs[end] <= limit or number == ranges):
            end += 1
        if end > begin:
            points_shown += first_lowest_highest_last(ys, range(begin, end))
        begin = end
    return [xs[place] for place in points_shown], [ys[place] for place in points_shown]


def first_lowest_highest_last(ys: Sequence[float | None], places: range) -> list[int]:
    numbers = [(value, place) for place in places if (value := ys[place]) is not None]
    missing = next((place for place in places if ys[place] is None), places[0])
    ends = {places[0], places[-1], missing}
    return sorted(ends | ({min(numbers)[1], max(numbers)[1]} if numbers else set()))


def rising_points(points: CurvePoints) -> tuple[list[float], list[float | None]]:
    xs: list[float] = []
    ys: list[float | None] = []
    for x, y in zip(*points, strict=True):
        if not xs or x > xs[-1]:
            xs.append(x)
            ys.append(y)
    return xs, ys


def join_curves(curves: Mapping[str, CurvePoints]) -> tuple[list[float], dict[str, list[float | None]]]:
    """One column of x for all curves; a curve has None where it has no point."""
    xs = sorted({x for curve, _ in curves.values() for x in curve})
    place = {x: number for number, x in enumerate(xs)}
    columns: dict[str, list[float | None]] = {}
    for name, (curve, ys) in curves.items():
        column: list[float | None] = [None] * len(xs)
        for x, y in zip(curve, ys, strict=True):
            column[place[x]] = y
        columns[name] = column
    return xs, columns
