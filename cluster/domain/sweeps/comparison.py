"""Compare the jobs of a sweep: which metrics they measured, how the table is sorted, which job is best."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cluster.domain.built_in_models import VariableValue
from cluster.domain.jobs.headline_metric import HeadlineMetric, value_by_headline
from cluster.domain.jobs.metric_names import is_input, is_lower_better
from cluster.domain.jobs.results import MetricResults
from cluster.domain.states import JobState
from cluster.domain.sweeps.plan import SweepPlan

PREFERRED_METRICS = ("accuracy/validation", "loss/validation", "accuracy/train", "loss/train")


@dataclass(frozen=True)
class SweepJobResult:
    """A job of a sweep. `seconds` is how long it has run, None before it has begun."""

    number: int
    job_id: int
    state: JobState
    results: MetricResults
    seconds: float | None = None
    attempt: int = 0
    name: str = ""
    headline: HeadlineMetric | None = None
    is_nan: bool = False
    """The loss of the job was no number."""


def sweep_headline(entries: Iterable[SweepJobResult]) -> HeadlineMetric | None:
    """The headline metric that most of the jobs have: it says what is compared and how."""
    known = [entry.headline for entry in entries if entry.headline is not None]
    if not known:
        return None
    ((metric, _count),) = Counter(headline.metric for headline in known).most_common(1)
    return next(headline for headline in known if headline.metric == metric)


def measured_metrics(entries: Sequence[SweepJobResult], headline: HeadlineMetric | None = None) -> list[str]:
    """The metrics that any job measured: the headline metric first, then those by which people compare."""
    found = {metric for entry in entries for metric in entry.results if not is_input(metric)}
    first = [headline.metric] if headline is not None else []
    order = dict.fromkeys([*first, *PREFERRED_METRICS, *sorted(found)])
    return [name for name in order if name in found]


def best_result(
    entries: Iterable[SweepJobResult], metric: str, headline: HeadlineMetric | None = None
) -> SweepJobResult | None:
    """The first of the best ones. None if no job measured the metric."""
    values = [(value_by_headline(entry.results, metric, headline), entry) for entry in entries]
    having = [(value, entry) for value, entry in values if value is not None]
    if not having:
        return None
    sign = 1 if is_low_first(metric, headline) else -1
    return min(having, key=lambda pair: (sign * pair[0], pair[1].number))[1]


def is_low_first(metric: str, headline: HeadlineMetric | None) -> bool:
    if headline is not None and headline.metric == metric:
        return headline.lower_is_better
    return is_lower_better(metric)


def sort_results(
    entries: Sequence[SweepJobResult],
    plan: SweepPlan,
    by: str,
    descending: bool,
    headline: HeadlineMetric | None = None,
) -> list[SweepJobResult]:
    """`by` is `job`, `seconds`, a parameter or a metric. Jobs without a value come last in both directions."""
    value_of = sort_key_of(plan, by, headline)
    known = [(value, entry) for entry in entries if (value := value_of(entry)) is not None]
    unknown = [entry for entry in entries if value_of(entry) is None]
    known.sort(key=lambda pair: pair[1].number)
    known.sort(key=lambda pair: to_sort_key(pair[0]), reverse=descending)
    return [entry for _, entry in known] + unknown


def sort_key_of(
    plan: SweepPlan, by: str, headline: HeadlineMetric | None
) -> Callable[[SweepJobResult], VariableValue | None]:
    if by == "job":
        return lambda entry: entry.job_id
    if by == "seconds":
        return lambda entry: entry.seconds
    if by in plan.values:
        return lambda entry: plan.row(entry.number)[by]
    return lambda entry: value_by_headline(entry.results, by, headline)


def to_sort_key(value: VariableValue) -> tuple[int, float, str]:
    """Sorts numbers by size, even if they were typed as text, and puts words after them."""
    try:
        number = float(value)
    except ValueError:
        return 1, 0.0, str(value)
    return (0, number, "") if number == number else (1, 0.0, str(value))


def is_descending_first(plan: SweepPlan, by: str, headline: HeadlineMetric | None = None) -> bool:
    """Whether a column is first sorted in descending order: the best value of a metric comes first."""
    return by not in ("job", "seconds", *plan.values) and not is_low_first(by, headline)
