"""Choose the one metric by which a job is named in lists, sweeps and mails."""

from dataclasses import dataclass
from typing import Any

from cluster.domain.jobs.metric_names import is_input, is_lower_better, is_score, split_metric_name
from cluster.domain.jobs.results import (
    LONGEST_METRIC,
    MetricResults,
    best_value,
    check_metric_name,
    parse_results,
)
from cluster.domain.names import check_text

VISIBLE_DIGITS = 4


@dataclass(frozen=True)
class Objective:
    """The metric that a program is trained for, as the program itself names it."""

    metric: str
    lower_is_better: bool = False


@dataclass(frozen=True)
class HeadlineMetric:
    """The metric and its value, which is the best one so far if `is_best`, else the last one."""

    metric: str
    value: float
    is_best: bool
    lower_is_better: bool = False

    @property
    def score(self) -> float:
        """Among jobs with the same metric the better one has the higher score."""
        return -self.value if self.lower_is_better else self.value


def check_objective(metric: str, lower_is_better: bool) -> Objective | None:
    """Parses the objective from a form. None without a metric. Raises Refused on `objective_metric`."""
    name = check_text(metric, "objective_metric", LONGEST_METRIC)
    return Objective(name, lower_is_better) if name else None


def choose_headline_metric(
    results: MetricResults, objective: Objective | None = None
) -> HeadlineMetric | None:
    """Chooses the first that exists: the objective of the program, that of the training, a validation accuracy or
    score, a validation loss, each at its best; else the last value of the metric that was logged first. None before
    anything was measured.

    `results` are in the order in which the program first logged them.
    """
    if objective is not None and objective.metric in results:
        return best_of(results, objective.metric, objective.lower_is_better)
    measured = [name for name in results if not is_input(name)]
    validated = [name for name in measured if split_metric_name(name)[1] == "validation"]
    for names in (filter(is_score, validated), filter(is_lower_better, validated)):
        if (name := next(names, None)) is not None:
            return best_of(results, name, is_lower_better(name))
    if not measured:
        return None
    first = measured[0]
    return HeadlineMetric(first, results[first][2], False, is_lower_better(first))


def best_of(results: MetricResults, metric: str, lower_is_better: bool) -> HeadlineMetric:
    low, high, _last = results[metric]
    return HeadlineMetric(metric, low if lower_is_better else high, True, lower_is_better)


def parse_headline_metric(
    results: Any, objective: Any, training_objective: Objective | None = None
) -> HeadlineMetric | None:
    """Chooses the headline metric from the `results` that a shim wrote. The objective of the program counts before
    that of the training.

    Returns None before the first metric and for values that make no sense, because the program may have written the
    file itself.
    """
    try:
        return choose_headline_metric(
            parse_results(results or {}), parse_objective(objective) or training_objective
        )
    except (TypeError, ValueError, OverflowError):
        return None


def value_by_headline(
    results: MetricResults, metric: str, headline: HeadlineMetric | None = None
) -> float | None:
    """Returns the value by which jobs are compared, so that comparisons and lists show the same number.

    For the headline metric it is the best or the last value, as in the headline; for any other metric it is the best
    one.
    """
    if metric not in results:
        return None
    if headline is None or headline.metric != metric:
        return best_value(results, metric)
    low, high, last = results[metric]
    return last if not headline.is_best else low if headline.lower_is_better else high


def parse_objective(found: Any) -> Objective | None:
    """Parses `{"metric": "bleu", "lower_is_better": false}`. Raises TypeError for anything else but None."""
    if found is None:
        return None
    if not isinstance(found, dict) or not isinstance(lower := found.get("lower_is_better", False), bool):
        raise TypeError("objective")
    return Objective(check_metric_name(found.get("metric")), lower)


def has_headline_changed(known: HeadlineMetric | None, found: HeadlineMetric | None) -> bool:
    """Whether lists, which show four digits, would show something else."""
    if known is None or found is None:
        return known is not found
    names = (known.metric, known.is_best, known.lower_is_better)
    return names != (found.metric, found.is_best, found.lower_is_better) or visible_digits(
        known.value
    ) != visible_digits(found.value)


def visible_digits(value: float) -> str:
    return f"{value:.{VISIBLE_DIGITS}g}"
