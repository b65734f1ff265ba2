"""Fewer points for a graph, and none of the news lost: lowest and highest of each stretch, and every gap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Line = tuple[Sequence[float], Sequence[float | None]]
"""x and y of one metric; y is None where the program logged something that is no number."""

MOST_POINTS = 1000


@dataclass(frozen=True)
class Columns:
    """uPlot's shape: one x for all, one list of y per name. None: nothing logged there, or no number.

    `gaps` has the x at which a metric was logged without being a number, for the marks on the axis.
    """

    x: list[float]
    y: dict[str, list[float | None]]
    gaps: dict[str, list[float]]


def thin(line: Line, points: int = MOST_POINTS) -> Line:
    """About `points` points at most: of each stretch its first gap, its lowest and its highest y.

    The same line gives the same points. First and last are kept; what is short comes back unchanged.
    """
    xs, ys = line
    if len(xs) <= points:
        return list(xs), list(ys)
    stretches = max(1, points // 2)
    low, high = min(xs), max(xs)
    width = (high - low) / stretches or 1.0
    kept: dict[int, list[int]] = {}
    for place, x in enumerate(xs):
        kept.setdefault(min(stretches - 1, int((x - low) / width)), []).append(place)
    chosen = {0, len(xs) - 1}
    for places in kept.values():
        numbers = [(y, place) for place in places if (y := ys[place]) is not None]
        if numbers:
            chosen |= {min(numbers)[1], max(numbers)[1]}
        chosen |= set([place for place in places if ys[place] is None][:1])
    order = sorted(chosen)
    return [xs[place] for place in order], [ys[place] for place in order]


def columns(lines: Mapping[str, Line], points: int = MOST_POINTS) -> Columns:
    """Thins each line and puts all on one x. Two y of one x: the later one counts."""
    thinned = {name: thin(line, points) for name, line in lines.items()}
    x = sorted({each for xs, _ in thinned.values() for each in xs})
    y, gaps = {}, {}
    for name, (xs, ys) in thinned.items():
        at = dict(zip(xs, ys, strict=True))
        y[name] = [at.get(each) for each in x]
        gaps[name] = [each for each, value in at.items() if value is None]
    return Columns(x, y, gaps)
