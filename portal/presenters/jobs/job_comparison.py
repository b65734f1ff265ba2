"""The values of the page that compares jobs: a column per job, curves in one graph, and the difference of code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cluster.cached_property import unlocked_cached_property
from cluster.domain.jobs.metric_names import is_input, is_lower_better
from cluster.domain.jobs.parameters import differing_names, job_parameters
from cluster.domain.jobs.results import MetricResults, best_value
from cluster.domain.states import JobState
from cluster.domain.sweeps.comparison import PREFERRED_METRICS
from cluster.services.context import Cluster
from cluster.store.jobs import Job
from portal.job_files.attempt_files import AttemptFiles
from portal.job_files.metrics.job_metrics import JobMetrics
from portal.job_files.metrics.metric_curves import MAX_COMPARED_JOBS
from portal.presenters.jobs.job_rows import parameter_word
from portal.presenters.training_code import VersionComparison, compare_code

MAX_JOBS = 20
MAX_CHARTS = 8
RUNNING_STATES = (JobState.RUNNING, JobState.STOPPING)


@dataclass(frozen=True)
class ComparedValue:
    """A cell: `text` of a parameter or `number` of a metric."""

    text: str = ""
    number: float | None = None
    is_best: bool = False


@dataclass(frozen=True)
class CodePair:
    """The code of one job beside that of the first one."""

    job: Job
    difference: VersionComparison


@dataclass(frozen=True)
class JobComparison:
    """The compared jobs. `jobs` are in the order in which their ids were chosen."""

    cluster: Cluster
    jobs: Sequence[Job]

    @property
    def drawn(self) -> Sequence[Job]:
        """The jobs whose curves are drawn: as many as colours and dashes can distinguish."""
        return self.jobs[:MAX_COMPARED_JOBS]

    @unlocked_cached_property
    def results(self) -> dict[int, MetricResults]:
        return {job.id: self.results_of(job) for job in self.jobs}

    def results_of(self, job: Job) -> MetricResults:
        """Returns the results from the row; those of a running job from its files, because its row has none yet."""
        if job.state in RUNNING_STATES:
            return self.files_of(job).results
        return {name: (low, high, last) for name, (low, high, last) in (job.results or {}).items()}

    def files_of(self, job: Job) -> AttemptFiles:
        root = self.cluster.settings.storage_dir
        return AttemptFiles.of_attempt(root, job.workspace_id, job.id, job.fence)

    def read_metrics(self) -> dict[int, JobMetrics]:
        return {job.id: self.files_of(job).metrics for job in self.drawn if job.files_unwanted_at is None}

    @unlocked_cached_property
    def metrics(self) -> list[str]:
        """The names of all metrics that any of the jobs measured: headline metrics first, then those by which people
        compare.
        """
        found = {name for results in self.results.values() for name in results if not is_input(name)}
        first = dict.fromkeys(job.headline_metric for job in self.jobs if job.headline_metric)
        order = dict.fromkeys([*first, *PREFERRED_METRICS, *sorted(found)])
        return [name for name in order if name in found]

    @property
    def charted(self) -> list[str]:
        return self.metrics[:MAX_CHARTS]

    @unlocked_cached_property
    def parameters(self) -> dict[int, dict[str, str]]:
        return {job.id: job_parameters(job.variables, job.command) for job in self.jobs}

    @property
    def differing_rows(self) -> list[tuple[str, list[ComparedValue]]]:
        names = differing_names(list(self.parameters.values()))
        return [(name, self.texts(name)) for name in names]

    @property
    def same_rows(self) -> list[tuple[str, str]]:
        """Lists the parameters that are the same in all jobs."""
        differing = set(differing_names(list(self.parameters.values())))
        first = self.parameters[self.jobs[0].id]
        return [(name, value) for name, value in first.items() if name not in differing]

    def texts(self, name: str) -> list[ComparedValue]:
        return [ComparedValue(self.parameters[job.id].get(name, "")) for job in self.jobs]

    @property
    def metric_rows(self) -> list[tuple[str, list[ComparedValue]]]:
        return [(metric, self.numbers(metric)) for metric in self.metrics]

    def value(self, job: Job, metric: str) -> float | None:
        """The number that the table and the legend show."""
        return best_value(self.results[job.id], metric)

    def numbers(self, metric: str) -> list[ComparedValue]:
        """The best value of each job; the best one of all is marked."""
        values = [self.value(job, metric) for job in self.jobs]
        known = [value for value in values if value is not None]
        best = (min(known) if is_lower_better(metric) else max(known)) if len(known) > 1 else None
        return [ComparedValue(number=value, is_best=value is not None and value == best) for value in values]

    @property
    def label_parameters(self) -> dict[int, str]:
        """The parameters that differ, for the legend of the graphs."""
        names = differing_names(list(self.parameters.values()))
        return {
            job_id: " · ".join(f"{parameter_word(name)} {values[name]}" for name in names if name in values)
            for job_id, values in self.parameters.items()
        }

    def code_pairs(self) -> list[CodePair]:
        """Pairs the code of the first job that has code with each other version once."""
        return list(pair_versions(self.cluster, [job for job in self.jobs if job.code_version > 0]))


def pair_versions(cluster: Cluster, jobs: Iterable[Job]) -> Iterable[CodePair]:
    first: Job | None = None
    seen: set[tuple[int, int]] = set()
    for job in jobs:
        if (job.training_id, job.code_version) in seen:
            continue
        seen.add((job.training_id, job.code_version))
        if first is None:
            first = job
            continue
        difference = compare_code(
            cluster, (first.training, first.code_version), (job.training, job.code_version)
        )
        yield CodePair(job, difference)
