"""Runs a repair as an operation: the driver does the work, and the run's row records it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs import repair_runs
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.repair_runs import Data
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from worker.repairs.driver import STEP_PLAYBOOK, STEP_PREPARE, STEP_PROBE, STEP_VERIFY, RepairDriver
from worker.tasks.step_progress import StepProgress

WEIGHTS = {STEP_PREPARE: 1.0, STEP_PROBE: 1.0, STEP_PLAYBOOK: 10.0, STEP_VERIFY: 2.0}


@dataclass(frozen=True)
class RowRecorder:
    """Records the run in its row, under the operation's fence."""

    cluster: Cluster
    operation: Operation
    reporter: StepProgress

    def read_run(self) -> RepairRun:
        return repair_runs.read_run_of_operation(self.cluster, self.operation)

    def record_step(self, step: str) -> None:
        self.reporter.report(step, 0.0)

    def record_start(self, before: Data) -> None:
        repair_runs.record_run_start(self.cluster, self.operation, before)

    def record_tasks(self, tasks: Data, share: float) -> None:
        progress = self.reporter.total_share(STEP_PLAYBOOK, share)
        repair_runs.record_run_tasks(self.cluster, self.operation, tasks, progress)

    def record_checks(self, checks: Data) -> None:
        repair_runs.record_run_checks(self.cluster, self.operation, checks)

    def record_end(self, verdict: RepairVerdict, rc: int | None, checks: Data, code: str = "") -> None:
        repair_runs.record_run_end(self.cluster, self.operation, verdict, rc, checks, code)


def run_repair(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice: a run that has begun is watched to its end. Raises Conflict, Unavailable, NotFound."""
    reporter = StepProgress(cluster, operation, WEIGHTS)
    reporter.start()
    recorder = RowRecorder(cluster, operation, reporter)
    entry = find_catalogue_entry(cluster, recorder.read_run().name)
    RepairDriver(cluster, entry, recorder, operation_log(cluster, operation)).drive()


def operation_log(cluster: Cluster, operation: Operation) -> Path:
    return cluster.settings.state_dir / "log" / f"operation-{operation.id}.log"


def record_repair_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    repair_runs.record_run_end(cluster, operation, RepairVerdict.BROKEN, None, [], code, data)
