"""Builds environments from requirements files as operations, and deletes their files."""

import os
from pathlib import Path

from cluster.failpoints import external_call
from cluster.services.context import Cluster
from cluster.services.images.environment_rows import environment_folder
from cluster.services.images.environments import (
    BuiltFromRequirements,
    finish_install,
    read_environment_order,
)
from cluster.services.operations.lifecycle import finish_claimed_operation
from cluster.services.storage import disk_space, folders
from cluster.store.operations import Operation
from worker.environments.build_steps import BuildStep
from worker.environments.from_requirements.build import build_from_requirements, remove_environment
from worker.environments.from_requirements.orders import BuildRules, BuiltEnvironment, EnvironmentOrder
from worker.environments.from_requirements.package_source import PackageSource
from worker.tasks.environments import find_uv
from worker.tasks.step_progress import StepProgress

INSTALL_WEIGHTS = {
    BuildStep.RESOLVE: 10.0,
    BuildStep.INSTALL: 75.0,
    BuildStep.VERIFY: 10.0,
    BuildStep.CONTENTS: 5.0,
}


def run_environment_install(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice, because the environment is in its final place only once it is complete. Raises Refused,
    BuildFailed, Conflict and Unavailable.
    """
    reporter = StepProgress(
        cluster, operation, {step.value: weight for step, weight in INSTALL_WEIGHTS.items()}
    )
    reporter.start()
    environment = read_environment_order(cluster, operation)
    target = environment_folder(cluster.settings, environment.id)
    order = EnvironmentOrder(
        target,
        environment.requirements or "",
        ".".join(environment.python.split(".")[:2]),
        environment.pins or "",
        environment.builds_sources,
        base=Path(environment.base.path) if environment.base else None,
        base_digest=environment.base.digest if environment.base else "",
    )
    log = cluster.settings.state_dir / "log" / f"operation-{operation.id}.log"
    with external_call("environments.installed"):
        built = build_from_requirements(
            order, build_rules(cluster, environment.id), reporter.report, uv=find_uv(), log=log
        )
    finish_install(cluster, operation.id, operation.fence, as_record(built))


def as_record(built: BuiltEnvironment) -> BuiltFromRequirements:
    contents = [list(part.line) for part in built.files.contents]
    return BuiltFromRequirements(built.digest, built.pins, built.python, built.files.size, contents)


def build_rules(cluster: Cluster, environment_id: int) -> BuildRules:
    settings = cluster.settings
    disk_space.require_disk_space(settings, of=settings.state_dir)
    uploads = folders.wheels_folder(settings)
    return BuildRules(
        PackageSource(settings.package_index, settings.package_folder, uploads if uploads.is_dir() else None),
        settings.job_ids.for_build(environment_id) if os.geteuid() == 0 else None,
        hidden=(settings.state_dir, settings.backups),
        check_room=lambda: disk_space.require_disk_space(settings, of=settings.state_dir),
    )


def run_environment_delete(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice. Raises OSError if the files cannot be deleted."""
    assert operation.subject_id is not None
    with external_call("environments.deleted"):
        remove_environment(environment_folder(cluster.settings, operation.subject_id))
    finish_claimed_operation(cluster, operation)
