"""The jobs of a sweep side by side: what they measured, in which order, and which one is best (T8)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cluster.domain.models import Value
from cluster.domain.results import Results, best_of, is_best_low
from cluster.domain.states import JobState
from cluster.domain.sweeps import SweepPlan

PREFERRED = ("accuracy/validation", "loss/validation", "accuracy/train", "loss/train")
CHOSEN = frozenset({"learning_rate", "epochs"})
"""Written beside the measurements for the graphs; they say what was asked for."""


@dataclass(frozen=True)
class Entry:
    """A job of a sweep; `seconds` is how long it has run, None before it has begun."""

    number: int
    job_id: int
    state: JobState
    results: Results
    seconds: float | None = None
    attempt: int = 0


def metrics_of(entries: Iterable[Entry]) -> list[str]:
    """Everything that some job measured, what people compare by first."""
    found = {metric for entry in entries for metric in entry.results} - CHOSEN
    return [name for name in PREFERRED if name in found] + sorted(found - set(PREFERRED))


def best_entry(entries: Iterable[Entry], metric: str) -> Entry | None:
    """The first of the best ones; None where nobody measured it."""
    having = [(value, entry) for entry in entries if (value := best_of(entry.results, metric)) is not None]
    if not having:
        return None
    sign = 1 if is_best_low(metric) else -1
    return min(having, key=lambda pair: (sign * pair[0], pair[1].number))[1]


def sort_entries(entries: Sequence[Entry], plan: SweepPlan, by: str, descending: bool) -> list[Entry]:
    """`by` is `job`, `seconds`, a parameter or a metric; what has no value stands last either way."""
    value_of = value_by(plan, by)
    known = [(value, entry) for entry in entries if (value := value_of(entry)) is not None]
    unknown = [entry for entry in entries if value_of(entry) is None]
    known.sort(key=lambda pair: pair[1].number)
    known.sort(key=lambda pair: as_sortable(pair[0]), reverse=descending)
    return [entry for _, entry in known] + unknown


def value_by(plan: SweepPlan, by: str) -> Callable[[Entry], Value | None]:
    if by == "job":
        return lambda entry: entry.job_id
    if by == "seconds":
        return lambda entry: entry.seconds
    if by in plan.values:
        return lambda entry: plan.row(entry.number)[by]
    return lambda entry: best_of(entry.results, by)


def as_sortable(value: Value) -> tuple[int, float, str]:
    """Numbers by size, also where they were typed as text; words after them."""
    try:
        number = float(value)
    except ValueError:
        return 1, 0.0, str(value)
    return (0, number, "") if number == number else (1, 0.0, str(value))


def first_direction(plan: SweepPlan, by: str) -> bool:
    """Whether a column is shown from the top down when it is chosen: a metric with its best first."""
    return by not in ("job", "seconds", *plan.values) and not is_best_low(by)
