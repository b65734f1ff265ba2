"""Compare the jobs of a sweep: which metrics they measured, how the table is sorted, which job is best."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cluster.domain.built_in_models import VariableValue
from cluster.domain.jobs.results import MetricResults, best_value, is_lower_better
from cluster.domain.states import JobState
from cluster.domain.sweeps.plan import SweepPlan

PREFERRED_METRICS = ("accuracy/validation", "loss/validation", "accuracy/train", "loss/train")
HYPERPARAMETERS = frozenset({"learning_rate", "epochs"})
"""Written beside the measurements for the graphs; they say what was asked for."""


@dataclass(frozen=True)
class SweepJobResult:
    """A job of a sweep; `seconds` is how long it has run, None before it has begun."""

    number: int
    job_id: int
    state: JobState
    results: MetricResults
    seconds: float | None = None
    attempt: int = 0


def measured_metrics(entries: Iterable[SweepJobResult]) -> list[str]:
    """Everything that some job measured, what people compare by first."""
    found = {metric for entry in entries for metric in entry.results} - HYPERPARAMETERS
    return [name for name in PREFERRED_METRICS if name in found] + sorted(found - set(PREFERRED_METRICS))


def best_result(entries: Iterable[SweepJobResult], metric: str) -> SweepJobResult | None:
    """The first of the best ones; None where nobody measured it."""
    having = [(value, entry) for entry in entries if (value := best_value(entry.results, metric)) is not None]
    if not having:
        return None
    sign = 1 if is_lower_better(metric) else -1
    return min(having, key=lambda pair: (sign * pair[0], pair[1].number))[1]


def sort_results(
    entries: Sequence[SweepJobResult], plan: SweepPlan, by: str, descending: bool
) -> list[SweepJobResult]:
    """`by` is `job`, `seconds`, a parameter or a metric; what has no value stands last either way."""
    value_of = sort_key_of(plan, by)
    known = [(value, entry) for entry in entries if (value := value_of(entry)) is not None]
    unknown = [entry for entry in entries if value_of(entry) is None]
    known.sort(key=lambda pair: pair[1].number)
    known.sort(key=lambda pair: to_sort_key(pair[0]), reverse=descending)
    return [entry for _, entry in known] + unknown


def sort_key_of(plan: SweepPlan, by: str) -> Callable[[SweepJobResult], VariableValue | None]:
    if by == "job":
        return lambda entry: entry.job_id
    if by == "seconds":
        return lambda entry: entry.seconds
    if by in plan.values:
        return lambda entry: plan.row(entry.number)[by]
    return lambda entry: best_value(entry.results, by)


def to_sort_key(value: VariableValue) -> tuple[int, float, str]:
    """Numbers by size, also where they were typed as text; words after them."""
    try:
        number = float(value)
    except ValueError:
        return 1, 0.0, str(value)
    return (0, number, "") if number == number else (1, 0.0, str(value))


def is_descending_first(plan: SweepPlan, by: str) -> bool:
    """Whether a column is shown from the top down when it is chosen: a metric with its best first."""
    return by not in ("job", "seconds", *plan.values) and not is_lower_better(by)
