"""The values of a job's page: the row, its times and progress, and the files of one attempt."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cluster.cached_property import unlocked_cached_property
from cluster.domain.errors import NotFound
from cluster.domain.jobs.divergence import diverged_loss
from cluster.domain.states import LIVE_JOB_STATES, JobState
from cluster.services.context import Cluster
from cluster.services.jobs.file_deletions import deletion_code, deletion_data
from cluster.store.jobs import Attempt, Job
from portal.job_files.attempt_files import AttemptFiles
from portal.presenters.jobs import job_times
from portal.presenters.jobs.failed_attempt import FailedAttempt, failure_hint, read_failed_attempt
from portal.presenters.jobs.job_progress import BestMetric, EpochProgress, best_metric, epoch_progress

SPEED = "images_per_second"


@dataclass(frozen=True)
class UnitsOnNode:
    """A node, and how many units of one attempt are there."""

    node: str
    units: int


@dataclass(frozen=True)
class JobView:
    """The values of the page. `attempt` is the one whose files are shown; None before the first attempt."""

    job: Job
    attempt: Attempt | None
    files: AttemptFiles
    now: datetime

    @property
    def number(self) -> int:
        return self.attempt.number if self.attempt else 0

    @property
    def is_live(self) -> bool:
        return self.job.state in LIVE_JOB_STATES

    @property
    def files_deletion(self) -> tuple[str, dict[str, Any]] | None:
        """Code and data of the sentence that says who has deleted its files; None while they are there."""
        if self.job.files_unwanted_at is None:
            return None
        return deletion_code(self.job), deletion_data(self.job)

    @property
    def is_newest(self) -> bool:
        return self.attempt is None or self.attempt is self.job.attempts[-1]

    @unlocked_cached_property
    def progress(self) -> EpochProgress:
        is_running = self.is_newest and self.job.state is JobState.RUNNING
        ends_at = expected_end(self.job, self.attempt) if is_running and self.attempt else None
        return epoch_progress(self.files.metrics, self.now, ends_at)

    @unlocked_cached_property
    def best(self) -> BestMetric | None:
        return best_metric(self.files.metrics)

    @property
    def speed(self) -> float | None:
        return self.files.metrics.last(SPEED)

    @property
    def units(self) -> list[Any]:
        """The units that this attempt holds or held."""
        return [held.unit for held in self.attempt.allocations] if self.attempt else []

    @property
    def units_on_nodes(self) -> list[UnitsOnNode]:
        return units_on_nodes(self.attempt) if self.attempt else []

    @property
    def unit_hours(self) -> float:
        return job_times.job_unit_hours(self.job.attempts, self.now)

    @property
    def waited(self) -> float:
        return job_times.job_waited_seconds(self.job, self.now)

    @property
    def ran(self) -> float | None:
        return job_times.job_ran_seconds(self.job, self.now)

    @property
    def seconds_by_state(self) -> list[tuple[str, float]]:
        return job_times.job_seconds_by_state(self.job, self.now)

    @unlocked_cached_property
    def failure(self) -> FailedAttempt | None:
        """The cause of the failure according to the attempt's logs; None if the attempt did not fail by itself."""
        if self.attempt is None or self.attempt.end_code is None or self.files_deletion:
            return None
        return read_failed_attempt(self.files, self.attempt.end_code, self.attempt.end_data)

    @property
    def job_failure(self) -> FailedAttempt | None:
        """The failure of a failed job's newest attempt; None for an earlier attempt and for another end."""
        return self.failure if self.is_newest and self.job.state is JobState.FAILED else None

    @property
    def failure_hint(self) -> str:
        """The advice for the job's end; may be empty."""
        return failure_hint(self.job_failure, self.job.end_code or "", self.job.end_data)

    @unlocked_cached_property
    def diverged_loss(self) -> str | None:
        """The loss that became NaN or infinite in this attempt, also while it runs."""
        noted = (self.attempt.end_data or {}).get("not_finite") if self.attempt else None
        counts = {name: series.not_finite_count for name, series in self.files.metrics.series.items()}
        return noted or diverged_loss(counts)

    @property
    def is_simulated(self) -> bool:
        """Whether the simulated executor ran the job, without a real program."""
        return bool(self.attempt and (self.attempt.handle or {}).get("simulated"))


def expected_end(job: Job, attempt: Attempt) -> datetime | None:
    """The end at the program's pace, or the time limit if it comes first. The queue shows the same."""
    if attempt.expected_end_at is None or job.time_limit_seconds is None:
        return attempt.expected_end_at
    begun = attempt.started_at or attempt.created_at
    return min(attempt.expected_end_at, begun + timedelta(seconds=job.time_limit_seconds))


def units_on_nodes(attempt: Attempt) -> list[UnitsOnNode]:
    """The job's nodes: the one of the first rank, then the others in the order of their units."""
    counts = Counter(held.unit.node.name for held in attempt.allocations)
    first = attempt.node.name
    others = [name for name in counts if name != first]
    return [UnitsOnNode(name, counts[name]) for name in (first, *others)]


def read_job_view(cluster: Cluster, job: Job, number: int | None) -> JobView:
    """Reads the newest attempt unless another one is named. Raises NotFound if there is no such attempt."""
    attempt = job.attempts[-1] if job.attempts else None
    if number is not None:
        attempt = next((one for one in job.attempts if one.number == number), None)
        if attempt is None:
            raise NotFound("attempt", number)
    number = attempt.number if attempt else 0
    files = AttemptFiles.of_attempt(cluster.settings.storage_dir, job.workspace_id, job.id, number)
    return JobView(job, attempt, files, cluster.clock())
