"""The results of a job: lowest, highest and last value of each metric, and which one counts in a comparison."""

import math
from collections.abc import Mapping
from typing import Any

from cluster.domain.jobs.metric_names import is_lower_better

MAX_METRICS = 64
LONGEST_METRIC = 100
"""The length up to which shims accept names. `groundcrew_job` writes shorter ones; other programs write the file
themselves.
"""

MetricResults = Mapping[str, tuple[float, float, float]]
"""Lowest, highest and last value of each metric."""


def parse_results(found: Any) -> dict[str, tuple[float, float, float]]:
    """Raises TypeError or ValueError if it is no table of finite numbers."""
    if not isinstance(found, dict) or len(found) > MAX_METRICS:
        raise TypeError("results")
    return {check_metric_name(name): _three(values) for name, values in found.items()}


def check_metric_name(found: Any) -> str:
    if not isinstance(found, str) or not 1 <= len(found) <= LONGEST_METRIC or not found.isprintable():
        raise TypeError(found)
    return found


def _three(found: Any) -> tuple[float, float, float]:
    low, high, last = found
    if not all(type(value) in (int, float) and abs(value) < math.inf for value in (low, high, last)):
        raise TypeError(found)
    return float(low), float(high), float(last)


def best_value(results: MetricResults, metric: str) -> float | None:
    """The value by which jobs are compared. None if it was not measured."""
    three = results.get(metric)
    if three is None:
        return None
    return three[0] if is_lower_better(metric) else three[1]
