"""The files of one attempt. Each is read when it is needed and at most once."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from cluster.cached_property import unlocked_cached_property
from cluster.domain.jobs.launch import shown_command
from cluster.domain.jobs.results import MetricResults
from cluster.files import checkpoints
from cluster.files.checkpoints import CheckpointFile
from portal.job_files.folders import control_path_parts, out_path_parts
from portal.job_files.logs.log_chunks import LogFile, list_attempt_logs
from portal.job_files.metrics.job_metrics import JobMetrics
from portal.job_files.metrics.metrics_cache import current_metrics_cache
from portal.job_files.start_plan import StartPlanFile, read_start_plan_file
from portal.job_files.usage import AttemptUsage, read_attempt_results, read_attempt_usage

RANKING_METRIC = "accuracy/validation"


@dataclass(frozen=True)
class AttemptFiles:
    """`out` and `control` are the paths of the attempt's folders below the storage folder `root`."""

    root: Path
    out: tuple[str, ...]
    control: tuple[str, ...]

    @classmethod
    def of_attempt(cls, root: Path, workspace_id: int, job_id: int, attempt: int) -> "AttemptFiles":
        names = workspace_id, job_id, attempt
        return cls(root, out_path_parts(*names), control_path_parts(*names))

    @unlocked_cached_property
    def metrics(self) -> JobMetrics:
        return current_metrics_cache().read(self.root, *self.out)

    @unlocked_cached_property
    def usage(self) -> AttemptUsage | None:
        return read_attempt_usage(self.root, *self.control)

    @property
    def results(self) -> MetricResults:
        """The metrics that the shim has summed up so far. Empty if there are none."""
        return read_attempt_results(self.root, *self.control)

    @unlocked_cached_property
    def start_plan(self) -> StartPlanFile | None:
        return read_start_plan_file(self.root, *self.control)

    @property
    def command_line(self) -> str:
        """The command as a person would type it in a shell."""
        return shlex.join(self.start_plan.argv) if self.start_plan else ""

    @property
    def short_command_line(self) -> str:
        """The command line without what Groundcrew puts around the program."""
        return shlex.join(shown_command(self.start_plan.argv)) if self.start_plan else ""

    @unlocked_cached_property
    def logs(self) -> list[LogFile]:
        return list_attempt_logs(self.root, *self.out)

    @unlocked_cached_property
    def checkpoints(self) -> list[CheckpointFile]:
        return checkpoints.list_checkpoints(self.root, *self.out)

    @property
    def best_checkpoint(self) -> CheckpointFile | None:
        return checkpoints.best_checkpoint(self.checkpoints, RANKING_METRIC, highest=True)

    @property
    def image(self) -> str | None:
        """The image of the attempt's container. None for a process."""
        return None if self.start_plan is None else self.start_plan.container

    @property
    def shares_our_user(self) -> bool | None:
        """Whether the program ran as the portal's own user. None before it has run."""
        return None if self.start_plan is None else self.start_plan.uid is None
