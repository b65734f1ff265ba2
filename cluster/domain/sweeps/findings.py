"""The findings in a sweep's results: a value that always wins, one that is faster and nearly as good, NaN losses."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from cluster.domain.built_in_models import VariableValue
from cluster.domain.jobs.headline_metric import HeadlineMetric, value_by_headline
from cluster.domain.states import JobState
from cluster.domain.sweeps.comparison import SweepJobResult, is_low_first
from cluster.domain.sweeps.plan import SweepPlan

MAX_VALUES = 12
"""Parameters with more values than this are left out."""
NOTICEABLE_SPEED = 0.1
NEARLY_AS_GOOD = 0.01
"""The largest difference from the best value, as a share of it."""
MAX_JOBS_NAMED = 5


@dataclass(frozen=True)
class SweepFinding:
    """A code with words and its data. `margins` are the smallest and the largest difference to the next best."""

    code: str
    data: dict[str, Any]
    margins: tuple[float, float] | None = None
    job_ids: tuple[int, ...] = field(default=())


@dataclass(frozen=True)
class MeasuredJob:
    values: dict[str, VariableValue]
    score: float
    """Higher is better."""
    seconds: float | None


def list_findings(
    entries: Sequence[SweepJobResult], plan: SweepPlan, metric: str, headline: HeadlineMetric | None = None
) -> list[SweepFinding]:
    """Lists what the finished jobs show. NaN losses count for all jobs."""
    sign = -1 if is_low_first(metric, headline) else 1
    jobs = [
        MeasuredJob(plan.row(entry.number), sign * value, entry.seconds)
        for entry in entries
        if entry.state is JobState.FINISHED
        and not entry.is_nan
        and (value := value_by_headline(entry.results, metric, headline)) is not None
    ]
    names = [name for name in plan.differing if len(set(plan.values[name])) <= MAX_VALUES]
    found = [finding for name in names if (finding := find_constant_winner(jobs, plan, name)) is not None]
    found += [finding for name in names if (finding := find_faster_value(jobs, name)) is not None]
    nan = [entry for entry in entries if entry.is_nan]
    return [*found, *find_nan(nan, len(entries), plan)]


def find_constant_winner(jobs: Sequence[MeasuredJob], plan: SweepPlan, name: str) -> SweepFinding | None:
    """A value that is the best for each combination of the others, of which there are at least two."""
    others = [other for other in plan.differing if other != name]
    groups: dict[tuple[str, ...], list[MeasuredJob]] = defaultdict(list)
    for job in jobs:
        groups[tuple(str(job.values[other]) for other in others)].append(job)
    ranked = [sorted(group, key=lambda job: -job.score) for group in groups.values() if len(group) > 1]
    if len(ranked) < 2:
        return None
    winners = {str(group[0].values[name]) for group in ranked}
    margins = [group[0].score - group[1].score for group in ranked]
    if len(winners) > 1 or min(margins) <= 0:
        return None
    return SweepFinding(
        "finding.always_best", {"name": name, "value": winners.pop()}, (min(margins), max(margins))
    )


def find_faster_value(jobs: Sequence[MeasuredJob], name: str) -> SweepFinding | None:
    """A value whose jobs run clearly shorter on average than those of the best value, and are nearly as good."""
    groups: dict[str, list[MeasuredJob]] = defaultdict(list)
    for job in jobs:
        if job.seconds:
            groups[str(job.values[name])].append(job)
    if len(groups) < 2:
        return None
    seconds = {value: fmean(job.seconds or 0.0 for job in group) for value, group in groups.items()}
    scores = {value: max(job.score for job in group) for value, group in groups.items()}
    best = max(scores, key=lambda value: scores[value])
    fastest = min(seconds, key=lambda value: seconds[value])
    saved = 1 - seconds[fastest] / seconds[best]
    lost = scores[best] - scores[fastest]
    if fastest == best or saved < NOTICEABLE_SPEED or lost > NEARLY_AS_GOOD * abs(scores[best]):
        return None
    data = {"name": name, "value": fastest, "other": best, "share": saved}
    return SweepFinding("finding.faster", data, (-lost, -lost))


def find_nan(nan: Sequence[SweepJobResult], total: int, plan: SweepPlan) -> list[SweepFinding]:
    if not nan:
        return []
    jobs = tuple(entry.job_id for entry in nan[:MAX_JOBS_NAMED])
    rows = [plan.row(entry.number) for entry in nan]
    for name in plan.differing:
        values = {str(row[name]) for row in rows}
        if len(values) == 1 and len(nan) < total:
            data = {"jobs": len(nan), "name": name, "value": values.pop()}
            return [SweepFinding("finding.nan_at", data, None, jobs)]
    return [SweepFinding("finding.nan", {"jobs": len(nan)}, None, jobs)]
