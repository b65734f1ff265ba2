"""Builds the default training environment as an operation."""

import shutil
import sys
from pathlib import Path
from typing import Any

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.images.environments import fail_build, finish_build
from cluster.services.operations.lifecycle import enqueue_requested_operations
from cluster.services.storage.disk_space import require_disk_space
from cluster.store.operations import Operation
from worker.environments.build import build_environment
from worker.environments.build_steps import BuildStep
from worker.environments.description import read_environment_description
from worker.environments.manifest import read_environment_contents
from worker.tasks.step_progress import StepProgress

WEIGHTS = {
    BuildStep.CHECK_TOOLS: 1.0,
    BuildStep.DOWNLOAD: 25.0,
    BuildStep.INSTALL: 15.0,
    BuildStep.COMPILE: 50.0,
    BuildStep.VERIFY: 8.0,
    BuildStep.CONTENTS: 1.0,
}
"""The weights follow the time that the steps take on a machine without wheels."""


def run_environment_build(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice, because the builder continues an interrupted build. Raises BuildFailed, Conflict,
    Unavailable.
    """
    reporter = StepProgress(cluster, operation, {step.value: weight for step, weight in WEIGHTS.items()})
    reporter.start()
    require_disk_space(cluster.settings, of=cluster.settings.cache_dir)
    path = build_environment(
        read_environment_description(),
        cluster.settings.cache_dir,
        reporter.report,
        uv=find_uv(),
        log=cluster.settings.state_dir / "log" / f"operation-{operation.id}.log",
    )
    finish_build(
        cluster, operation.id, operation.fence, [list(line) for line in read_environment_contents(path)]
    )
    # Samples can be written now, because the environment's own libraries write them.
    enqueue_requested_operations(cluster, OperationKind.DATASET_SAMPLE)


def record_build_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    fail_build(cluster, operation.id, operation.fence, code, data)


def find_uv() -> Path:
    """Finds the uv that is installed beside this interpreter."""
    beside = Path(sys.executable).parent / "uv"
    return beside if beside.exists() else Path(shutil.which("uv") or beside)
