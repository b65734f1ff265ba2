"""Everything that a job's page shows, read once per request: the row, and the files of one attempt."""

import shlex
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from flask import current_app

from cluster.domain.errors import NotFound
from cluster.domain.states import LIVING_JOB_STATES, JobState
from cluster.files.checkpoints import Checkpoint, list_checkpoints
from cluster.files.checkpoints import best as best_checkpoint
from cluster.kept import kept_property
from cluster.services.context import Cluster
from cluster.services.job_files import deletion_code, deletion_data
from cluster.store.jobs import Attempt, Job
from portal import job_progress, job_times
from portal.job_files.attempt import control_folder, out_folder
from portal.job_files.log import Stream, list_streams
from portal.job_files.metrics import Metrics
from portal.job_files.metrics_reader import MetricsReader
from portal.job_files.plan import Plan, read_plan
from portal.job_files.usage import Usage, read_usage

READER = "metrics_reader"
CSV_PLACES = "csv_places"


@dataclass(frozen=True)
class Place:
    """A node, and how many units of one try are there."""

    node: str
    units: int


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
    def is_living(self) -> bool:
        return self.job.state in LIVING_JOB_STATES

    @property
    def deleted(self) -> tuple[str, dict[str, Any]] | None:
        """Code and data of the sentence that says who has deleted its files; None while they are there."""
        if self.job.files_unwanted_at is None:
            return None
        return deletion_code(self.job), deletion_data(self.job)

    @property
    def is_newest(self) -> bool:
        return self.attempt is None or self.attempt is self.job.attempts[-1]

    @property
    def out(self) -> tuple[str, ...]:
        return out_folder(self.job, self.number)

    @property
    def control(self) -> tuple[str, ...]:
        return control_folder(self.job, self.number)

    @kept_property
    def metrics(self) -> Metrics:
        reader: MetricsReader = current_app.extensions[READER]
        return reader.read(self.root, *self.out)

    @kept_property
    def progress(self) -> job_progress.Progress:
        is_running = self.is_newest and self.job.state is JobState.RUNNING
        ends_at = self.attempt.expected_end_at if is_running and self.attempt else None
        return job_progress.progress_of(self.metrics, self.now, ends_at)

    @kept_property
    def best(self) -> job_progress.Best | None:
        return job_progress.best_of(self.metrics)

    @property
    def speed(self) -> float | None:
        return self.metrics.last(job_progress.SPEED)

    @kept_property
    def usage(self) -> Usage | None:
        return read_usage(self.root, *self.control)

    @kept_property
    def plan(self) -> Plan | None:
        return read_plan(self.root, *self.control)

    @property
    def command_line(self) -> str:
        """As a shell would have to be given it."""
        return shlex.join(self.plan.argv) if self.plan else ""

    @kept_property
    def streams(self) -> list[Stream]:
        return list_streams(self.root, *self.out)

    @kept_property
    def checkpoints(self) -> list[Checkpoint]:
        return list_checkpoints(self.root, *self.out)

    @property
    def best_checkpoint(self) -> Checkpoint | None:
        return best_checkpoint(self.checkpoints, job_progress.ACCURACY, highest=True)

    @property
    def units(self) -> list[Any]:
        """The units that this try holds or held."""
        return [held.unit for held in self.attempt.allocations] if self.attempt else []

    @property
    def places(self) -> list[Place]:
        return places_of(self.attempt) if self.attempt else []

    @property
    def unit_hours(self) -> float:
        return job_times.unit_hours(self.job.attempts, self.now)

    @property
    def waited(self) -> float:
        return job_times.waited_seconds(self.job, self.now)

    @property
    def ran(self) -> float | None:
        return job_times.ran_seconds(self.job, self.now)

    @property
    def states(self) -> list[tuple[str, float]]:
        return job_times.seconds_in_states(self.job, self.now)

    @property
    def is_simulated(self) -> bool:
        """Whether a rehearsal only pretended to run it."""
        return bool(self.attempt and (self.attempt.handle or {}).get("simulated"))

    @property
    def image(self) -> str | None:
        """Of the container that it ran in; None for a process."""
        return None if self.plan is None else self.plan.container

    @property
    def shares_our_user(self) -> bool | None:
        """Whether the program ran as the portal's own user; None before anything ran."""
        return None if self.plan is None else self.plan.uid is None


def places_of(attempt: Attempt) -> list[Place]:
    """The node of the first rank first; of a gang over several nodes the others in the order of their units."""
    counts = Counter(held.unit.node.name for held in attempt.allocations)
    first = attempt.node.name
    others = [name for name in counts if name != first]
    return [Place(name, counts[name]) for name in (first, *others)]


def look_at(cluster: Cluster, job: Job, number: int | None) -> JobView:
    """The newest attempt unless another is asked for. Raises NotFound for one that never was."""
    attempt = job.attempts[-1] if job.attempts else None
    if number is not None:
        attempt = next((one for one in job.attempts if one.number == number), None)
        if attempt is None:
            raise NotFound("attempt", number)
    return JobView(job, attempt, cluster.settings.storage_dir, cluster.clock())
