"""Builds the environment that has JupyterLab, as an operation."""

from typing import Any

from cluster.services.context import Cluster
from cluster.services.notebooks.editor_environment import fail_editor_build, finish_editor_build
from cluster.services.storage.disk_space import require_disk_space
from cluster.store.operations import Operation
from worker.environments.build_steps import BuildStep
from worker.environments.editor_environment import build_editor
from worker.tasks.environments import find_uv
from worker.tasks.step_progress import StepProgress

WEIGHTS = {BuildStep.CHECK_TOOLS: 1.0, BuildStep.INSTALL: 20.0, BuildStep.VERIFY: 4.0}


def run_editor_build(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice. Raises BuildFailed, Conflict, Unavailable."""
    reporter = StepProgress(cluster, operation, {step.value: weight for step, weight in WEIGHTS.items()})
    reporter.start()
    settings = cluster.settings
    require_disk_space(settings, of=settings.cache_dir)
    log = settings.state_dir / "log" / f"operation-{operation.id}.log"
    path = build_editor(settings.cache_dir, reporter.report, uv=find_uv(), log=log)
    finish_editor_build(cluster, operation.id, operation.fence, path)


def record_editor_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    fail_editor_build(cluster, operation.id, operation.fence, code, data)
