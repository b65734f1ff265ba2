"""The values of a sweep's page: the row, its jobs side by side and the best result."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cluster.cached_property import unlocked_cached_property
from cluster.domain.errors import Refused
from cluster.domain.jobs.headline_metric import HeadlineMetric, value_by_headline
from cluster.domain.people.actor import Actor
from cluster.domain.states import LIVE_JOB_STATES, JobState
from cluster.domain.sweeps.comparison import (
    SweepJobResult,
    best_result,
    is_descending_first,
    measured_metrics,
    sort_results,
    sweep_headline,
)
from cluster.domain.sweeps.plan import SweepPlan
from cluster.services.context import Cluster
from cluster.services.sweeps import queries
from cluster.store.jobs import Sweep
from portal.csv_text import CsvCell
from portal.job_files.attempt_files import AttemptFiles
from portal.job_files.metrics.job_metrics import JobMetrics

MAX_LIVE_JOBS = 200
"""The number of running jobs that are asked for their newest metrics; the rest show them when they have ended."""
METRIC_COLUMNS = 2
MANY_PARAMETERS = 2
MAX_CHARTS = 8
RUNNING_STATES = (JobState.RUNNING, JobState.STOPPING)


@dataclass(frozen=True)
class SweepView:
    """The values of the page. `results` are sorted, and `limit` of them are shown from `offset` on."""

    sweep: Sweep
    plan: SweepPlan
    counts: dict[JobState, int]
    results: list[SweepJobResult]
    metrics: list[str]
    sort_column: str
    is_descending: bool
    offset: int
    limit: int
    headline: HeadlineMetric | None = None
    metric: str = ""
    """The metric by which the jobs are compared; empty before anything was measured."""

    @property
    def shown(self) -> list[SweepJobResult]:
        return self.results[self.offset : self.offset + self.limit]

    @property
    def columns(self) -> list[str]:
        """The metrics of the table: the compared one, and a second one if there are few parameters. A file has all."""
        others = [name for name in self.metrics if name != self.metric]
        room = METRIC_COLUMNS if len(self.plan.differing) < MANY_PARAMETERS else 1
        return [name for name in [self.metric, *others] if name][:room]

    def charted(self, lines: Iterable[SweepJobResult]) -> list[str]:
        """The metrics that any of these jobs measured, the compared one first."""
        measured = {name for entry in lines for name in entry.results}
        order = [self.metric, *(name for name in self.metrics if name != self.metric)]
        return [name for name in order if name in measured][:MAX_CHARTS]

    def value(self, entry: SweepJobResult, metric: str) -> float | None:
        """The number that the table, the legend and the lists of jobs show."""
        return value_by_headline(entry.results, metric, self.headline)

    @property
    def has_form(self) -> bool:
        """Whether the form of a new sweep can be filled in from this one. A sweep of own code must have its command."""
        return self.sweep.training.model is not None or "command" in self.sweep.plan

    @property
    def says_last(self) -> bool:
        """Whether the last values are compared and not the best ones."""
        headline = self.headline
        return headline is not None and headline.metric == self.metric and not headline.is_best

    @unlocked_cached_property
    def best(self) -> SweepJobResult | None:
        return best_result(self.results, self.metric, self.headline) if self.metric else None

    @unlocked_cached_property
    def best_of_column(self) -> dict[str, int]:
        """Metric → the job with the best value."""
        best_results = {metric: best_result(self.results, metric, self.headline) for metric in self.columns}
        return {metric: entry.job_id for metric, entry in best_results.items() if entry}

    @property
    def ended(self) -> int:
        return sum(count for state, count in self.counts.items() if state not in LIVE_JOB_STATES)

    @property
    def is_live(self) -> bool:
        return self.ended < self.sweep.jobs


def read_sweep_view(
    cluster: Cluster,
    actor: Actor,
    sweep_id: int,
    by: str = "",
    order: str = "",
    limit: int = 50,
    first: int = 0,
    metric: str = "",
) -> SweepView:
    """Reads the page. An empty `by` sorts by the metric once it was measured; an empty `metric` is the headline
    metric of most jobs.

    Raises NotFound, and Refused for a text that is no column.
    """
    with cluster.store.read() as session:
        sweep = queries.load_sweep(session, actor, sweep_id)
        counts = queries.count_job_states(session, sweep_id)
        entries = queries.read_sweep_results(cluster, session, sweep_id)
    entries = with_live_results(cluster, sweep, entries)
    plan, headline = SweepPlan.from_data(sweep.plan), sweep_headline(entries)
    metrics = measured_metrics(entries, headline)
    if metric and metric not in metrics:
        raise Refused("metric", "value.not_a_choice", allowed=metrics[:20])
    metric = metric or (metrics[0] if metrics else "")
    columns = ["job", "seconds", *plan.values, *metrics]
    if by and by not in columns:
        raise Refused("sort", "value.not_a_choice", allowed=columns[:20])
    by = by or metric or "job"
    descending = order == "down" if order else is_descending_first(plan, by, headline)
    entries = sort_results(entries, plan, by, descending, headline)
    return SweepView(sweep, plan, counts, entries, metrics, by, descending, first, limit, headline, metric)


def with_live_results(cluster: Cluster, sweep: Sweep, entries: list[SweepJobResult]) -> list[SweepJobResult]:
    """The measurements of running jobs so far, which their shims write every two seconds."""
    running = [entry for entry in entries if entry.state in RUNNING_STATES][:MAX_LIVE_JOBS]
    live = {entry.job_id: files_of_result(cluster, sweep, entry).results for entry in running}
    return [
        replace(entry, results=live[entry.job_id]) if entry.job_id in live else entry for entry in entries
    ]


def files_of_result(cluster: Cluster, sweep: Sweep, entry: SweepJobResult) -> AttemptFiles:
    return AttemptFiles.of_attempt(
        cluster.settings.storage_dir, sweep.workspace_id, entry.job_id, entry.attempt
    )


def read_metrics_of_jobs(
    cluster: Cluster, view: SweepView, results: Iterable[SweepJobResult]
) -> dict[int, JobMetrics]:
    """Returns job id → the metrics of its newest attempt."""
    return {entry.job_id: files_of_result(cluster, view.sweep, entry).metrics for entry in results}


def sweep_csv_head(view: SweepView) -> list[str]:
    return ["job", "number", "state", *view.plan.values, *view.metrics, "seconds"]


def sweep_csv_row(view: SweepView, entry: SweepJobResult) -> list[CsvCell]:
    """Lists all parameters and the best value of every metric."""
    values = view.plan.row(entry.number)
    best = [view.value(entry, name) for name in view.metrics]
    parameters = [values[name] for name in view.plan.values]
    return [f"job-{entry.job_id}", entry.number, entry.state.value, *parameters, *best, entry.seconds]
