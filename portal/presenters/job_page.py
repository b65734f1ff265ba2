"""The values of a job's page: the row, its times and progress, and the files of one attempt, each read at most once
per request."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from flask import current_app

from cluster.cached_property import unlocked_cached_property
from cluster.domain.errors import NotFound
from cluster.domain.jobs import accounting
from cluster.domain.jobs.accounting import JobStateChange, UnitHolding
from cluster.domain.states import LIVE_JOB_STATES, JobState
from cluster.files.checkpoints import CheckpointFile, list_checkpoints
from cluster.files.checkpoints import best_checkpoint as best_checkpoint
from cluster.services.context import Cluster
from cluster.services.jobs.file_deletions import deletion_code, deletion_data
from cluster.store.jobs import Attempt, Job
from portal.job_files.folders import control_path_parts, out_path_parts
from portal.job_files.log_chunks import LogFile, list_attempt_logs
from portal.job_files.metrics import JobMetrics
from portal.job_files.metrics_cache import MetricsCache
from portal.job_files.start_plan import StartPlanFile, read_start_plan_file
from portal.job_files.usage import AttemptUsage, read_attempt_usage

METRICS_CACHE = "metrics_cache"
CSV_SLOTS = "csv_slots"

ACCURACY = "accuracy/validation"
LOSS = "loss/validation"
SPEED = "images_per_second"
EPOCHS = "epochs"


@dataclass(frozen=True)
class UnitsOnNode:
    """A node, and how many units of one try are there."""

    node: str
    units: int


@dataclass(frozen=True)
class EpochProgress:
    """Epochs may be parts of one; `share_done` is 0 to 1; None where the program does not say."""

    epoch: float | None
    epochs: float | None
    ends_at: datetime | None = None

    @property
    def share_done(self) -> float | None:
        if self.epoch is None or not self.epochs:
            return None
        return min(1.0, max(0.0, self.epoch / self.epochs))


@dataclass(frozen=True)
class BestMetric:
    """`metric` tells what it is: an accuracy is best at its highest, a loss at its lowest."""

    metric: str
    value: float
    epoch: float | None


@dataclass(frozen=True)
class JobView:
    """`attempt` is the try whose files are shown, None before the first; files are read when asked for."""

    job: Job
    attempt: Attempt | None
    root: Path
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

    @property
    def out(self) -> tuple[str, ...]:
        return out_path_parts(self.job, self.number)

    @property
    def control(self) -> tuple[str, ...]:
        return control_path_parts(self.job, self.number)

    @unlocked_cached_property
    def metrics(self) -> JobMetrics:
        reader: MetricsCache = current_app.extensions[METRICS_CACHE]
        return reader.read(self.root, *self.out)

    @unlocked_cached_property
    def progress(self) -> EpochProgress:
        is_running = self.is_newest and self.job.state is JobState.RUNNING
        ends_at = self.attempt.expected_end_at if is_running and self.attempt else None
        return epoch_progress(self.metrics, self.now, ends_at)

    @unlocked_cached_property
    def best(self) -> BestMetric | None:
        return best_metric(self.metrics)

    @property
    def speed(self) -> float | None:
        return self.metrics.last(SPEED)

    @unlocked_cached_property
    def usage(self) -> AttemptUsage | None:
        return read_attempt_usage(self.root, *self.control)

    @unlocked_cached_property
    def start_plan(self) -> StartPlanFile | None:
        return read_start_plan_file(self.root, *self.control)

    @property
    def command_line(self) -> str:
        """The command as it would be typed in a shell."""
        return shlex.join(self.start_plan.argv) if self.start_plan else ""

    @unlocked_cached_property
    def log_files(self) -> list[LogFile]:
        return list_attempt_logs(self.root, *self.out)

    @unlocked_cached_property
    def checkpoints(self) -> list[CheckpointFile]:
        return list_checkpoints(self.root, *self.out)

    @property
    def best_checkpoint(self) -> CheckpointFile | None:
        return best_checkpoint(self.checkpoints, ACCURACY, highest=True)

    @property
    def units(self) -> list[Any]:
        """The units that this try holds or held."""
        return [held.unit for held in self.attempt.allocations] if self.attempt else []

    @property
    def units_on_nodes(self) -> list[UnitsOnNode]:
        return units_on_nodes(self.attempt) if self.attempt else []

    @property
    def unit_hours(self) -> float:
        return job_unit_hours(self.job.attempts, self.now)

    @property
    def waited(self) -> float:
        return job_waited_seconds(self.job, self.now)

    @property
    def ran(self) -> float | None:
        return job_ran_seconds(self.job, self.now)

    @property
    def seconds_by_state(self) -> list[tuple[str, float]]:
        return job_seconds_by_state(self.job, self.now)

    @property
    def is_simulated(self) -> bool:
        """Whether a rehearsal only pretended to run it."""
        return bool(self.attempt and (self.attempt.handle or {}).get("simulated"))

    @property
    def image(self) -> str | None:
        """The image of the job's container; None for a process."""
        return None if self.start_plan is None else self.start_plan.container

    @property
    def shares_our_user(self) -> bool | None:
        """Whether the program ran as the portal's own user; None before anything ran."""
        return None if self.start_plan is None else self.start_plan.uid is None


def units_on_nodes(attempt: Attempt) -> list[UnitsOnNode]:
    """The node of the first rank first; of a gang over several nodes the others in the order of their units."""
    counts = Counter(held.unit.node.name for held in attempt.allocations)
    first = attempt.node.name
    others = [name for name in counts if name != first]
    return [UnitsOnNode(name, counts[name]) for name in (first, *others)]


def epoch_progress(metrics: JobMetrics, now: datetime, expected_end_at: datetime | None) -> EpochProgress:
    """`expected_end_at`: what the row says, as every page does; None for one that does not run."""
    epochs = metrics.last(EPOCHS)
    if metrics.last_epoch is None:
        return EpochProgress(None, epochs)
    return EpochProgress(metrics.last_epoch, epochs, max(now, expected_end_at) if expected_end_at else None)


def best_metric(metrics: JobMetrics) -> BestMetric | None:
    for metric, is_highest in ((ACCURACY, True), (LOSS, False)):
        found = metrics.best(metric, highest=is_highest)
        if found:
            return BestMetric(metric, *found)
    return None


def job_seconds_by_state(job: Job, now: datetime) -> list[tuple[str, float]]:
    """(state, seconds) in the order in which they first came; ended states take no time."""
    changes = [JobStateChange(event.at, JobState(event.state)) for event in job.events]
    changes = changes or [JobStateChange(job.submitted_at, job.state)]
    spent = accounting.seconds_in_states(changes, job.ended_at, now)
    return [(state.value, seconds) for state, seconds in spent.items()]


def job_unit_hours(attempts: Sequence[Attempt], now: datetime) -> float:
    """Units times hours that they were held, over all attempts."""
    holdings = [
        UnitHolding(1, held.begun_at, held.ended_at) for attempt in attempts for held in attempt.allocations
    ]
    return accounting.unit_hours(holdings, now)


def job_waited_seconds(job: Job, now: datetime) -> float:
    return ((job.dispatched_at or job.ended_at or now) - job.submitted_at).total_seconds()


def job_ran_seconds(job: Job, now: datetime) -> float | None:
    """From the first start to the end; None where it never started."""
    return ((job.ended_at or now) - job.started_at).total_seconds() if job.started_at else None


def read_job_view(cluster: Cluster, job: Job, number: int | None) -> JobView:
    """The newest attempt unless another is asked for. Raises NotFound for one that never was."""
    attempt = job.attempts[-1] if job.attempts else None
    if number is not None:
        attempt = next((one for one in job.attempts if one.number == number), None)
        if attempt is None:
            raise NotFound("attempt", number)
    return JobView(job, attempt, cluster.settings.storage_dir, cluster.clock())
