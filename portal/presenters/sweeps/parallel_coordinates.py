"""Parallel coordinates of a sweep: a vertical axis per parameter and measurement, a line per job, as SVG numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cluster.domain.sweeps.comparison import SweepJobResult, to_sort_key
from cluster.words.formatting import format_metric_value, format_number
from cluster.words.metrics import metric_name
from portal.i18n.translate import _, localized_duration, request_language
from portal.presenters.sweeps.sweep_page import SweepView

WIDTH, HEIGHT = 960, 220
LEFT, RIGHT, TOP, BOTTOM = 60, 60, 36, 12
MAX_LINES = 300
MAX_AXES = 7
MAX_WORDS = 8
"""The number of ticks on an axis of words or of few numbers."""


@dataclass(frozen=True)
class AxisTick:
    y: float
    text: str


@dataclass(frozen=True)
class CoordinateAxis:
    x: float
    title: str
    ticks: tuple[AxisTick, ...]


@dataclass(frozen=True)
class CoordinateLine:
    """The line of one job. `colour` is that of its curve, 0 for a faint line. `path` is an SVG path."""

    job_id: int
    path: str
    colour: int
    label: str


@dataclass(frozen=True)
class ParallelCoordinates:
    axes: tuple[CoordinateAxis, ...]
    lines: tuple[CoordinateLine, ...]
    """The lines, faint ones first, so that the chosen ones lie above them."""
    left_out: int
    """The number of jobs that are not drawn, because they lack a measurement or are too many."""
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class AxisSource:
    """The source of an axis' values, and how they are written."""

    title: str
    read: Callable[[SweepJobResult], object | None]
    write: Callable[[float], str]
    is_measured: bool = False
    """Whether the values were measured. Other values belong to a parameter, which often has few of them."""


@dataclass(frozen=True)
class AxisScale:
    """The scale of one axis. A few different values are spread evenly, many numbers by their size."""

    places: dict[str, float]
    low: float
    high: float
    ticks: tuple[AxisTick, ...]

    def y(self, value: object) -> float:
        if self.places:
            return self.places[str(value)]
        share = (float(value) - self.low) / (self.high - self.low) if self.high > self.low else 0.5  # type: ignore[arg-type]
        return height_of(share)


def describe_coordinates(view: SweepView, chosen: Sequence[SweepJobResult]) -> ParallelCoordinates | None:
    """Returns None if fewer than two jobs have a value on every axis, or if there is only one axis."""
    sources = list_sources(view)
    whole = [entry for entry in view.results if all(source.read(entry) is not None for source in sources)]
    if len(whole) < 2 or len(sources) < 2:
        return None
    colours = {entry.job_id: place for place, entry in enumerate(chosen, start=1)}
    drawn = sorted(whole, key=lambda entry: entry.job_id not in colours)[:MAX_LINES]
    scales = [make_scale(source, [source.read(entry) for entry in drawn]) for source in sources]
    step = (WIDTH - LEFT - RIGHT) / (len(sources) - 1)
    xs = [round(LEFT + step * place, 1) for place in range(len(sources))]
    axes = tuple(
        CoordinateAxis(x, source.title, scale.ticks)
        for x, source, scale in zip(xs, sources, scales, strict=True)
    )
    lines = [
        CoordinateLine(
            entry.job_id,
            path_through(
                xs, [scale.y(source.read(entry)) for source, scale in zip(sources, scales, strict=True)]
            ),
            colours.get(entry.job_id, 0),
            entry.name or f"job-{entry.job_id}",
        )
        for entry in drawn
    ]
    return ParallelCoordinates(
        axes, tuple(sorted(lines, key=lambda line: line.colour > 0)), len(view.results) - len(drawn)
    )


def list_sources(view: SweepView) -> list[AxisSource]:
    """Lists the differing parameters, then the duration, then the compared metric."""
    names = view.plan.differing[: MAX_AXES - 2]
    found = [
        AxisSource(name, lambda entry, name=name: view.plan.row(entry.number)[name], format_number)  # type: ignore[misc]
        for name in names
    ]
    found.append(AxisSource(_("Ran"), lambda entry: entry.seconds, localized_duration, is_measured=True))
    if view.metric:
        found.append(
            AxisSource(
                metric_name(view.metric, request_language()),
                lambda entry: view.value(entry, view.metric),
                lambda value: format_metric_value(view.metric, value),
                is_measured=True,
            )
        )
    return found


def make_scale(source: AxisSource, values: Sequence[object | None]) -> AxisScale:
    different = sorted({str(value) for value in values}, key=to_sort_key)
    if not source.is_measured and (len(different) <= MAX_WORDS or not all(map(is_number, different))):
        places = {
            text: height_of(place / (len(different) - 1) if len(different) > 1 else 0.5)
            for place, text in enumerate(different)
        }
        shown = different if len(different) <= MAX_WORDS else [different[0], different[-1]]
        return AxisScale(places, 0, 0, tuple(AxisTick(places[text], text[:12]) for text in shown))
    numbers = [float(str(value)) for value in values]
    low, high = min(numbers), max(numbers)
    shares = (0.0, 0.5, 1.0) if high > low else (0.5,)
    written = [(share, source.write(low + share * (high - low))) for share in shares]
    ends = {written[0][1], written[-1][1]} if len(written) > 1 else set()
    # Between 1 s and 2 s a tick in the middle would be written 1 s, too.
    ticks = tuple(
        AxisTick(height_of(share), text) for share, text in written if share in (0.0, 1.0) or text not in ends
    )
    return AxisScale({}, low, high, ticks)


def is_number(text: str) -> bool:
    return to_sort_key(text)[0] == 0


def height_of(share: float) -> float:
    """Returns the vertical position; 0 is at the bottom."""
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def path_through(xs: Sequence[float], ys: Sequence[float]) -> str:
    """A smooth line that is level at each axis."""
    parts = [f"M{xs[0]} {ys[0]}"]
    for place in range(1, len(xs)):
        middle = round((xs[place - 1] + xs[place]) / 2, 1)
        parts.append(f"C{middle} {ys[place - 1]} {middle} {ys[place]} {xs[place]} {ys[place]}")
    return "".join(parts)
