"""Downsamples curves for graphs. The lowest and the highest point of each range stay, so that no spike disappears."""

from collections.abc import Sequence

CurvePoints = tuple[Sequence[float], Sequence[float | None]]


def downsample(points: CurvePoints, ranges: int) -> tuple[list[float], list[float | None]]:
    """Keeps at most 4 points per range of x: its first, lowest, highest and last one, in their order.

    A value that is no number (None) is kept as one of them. Points at which x does not rise, as after a restart of
    the program's count, are left out.
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
