"""The body of each kind of operation, and what records its failure."""

from collections.abc import Callable
from typing import Any

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.git.git_fetches import record_fetch_failure
from cluster.services.operations.lifecycle import fail_claimed_operation
from cluster.store.operations import Operation
from worker.tasks import (
    backups,
    datasets,
    editors,
    environment_installs,
    environments,
    repairs,
)
from worker.tasks.code import code_imports, git_fetches
from worker.tasks.messages import notices

TaskBody = Callable[[Cluster, Operation], None]


FailureRecorder = Callable[[Cluster, Operation, str, dict[str, Any]], None]


BODIES: dict[str, tuple[TaskBody, FailureRecorder]] = {
    OperationKind.ENVIRONMENT_BUILD: (environments.run_environment_build, environments.record_build_failure),
    OperationKind.ENVIRONMENT_INSTALL: (
        environment_installs.run_environment_install,
        environments.record_build_failure,
    ),
    OperationKind.ENVIRONMENT_DELETE: (environment_installs.run_environment_delete, fail_claimed_operation),
    OperationKind.EDITOR_BUILD: (editors.run_editor_build, editors.record_editor_failure),
    OperationKind.DATASET_IMPORT: (datasets.run_import, datasets.record_dataset_failure),
    OperationKind.DATASET_SAMPLE: (datasets.run_sample, datasets.record_dataset_failure),
    OperationKind.DATASET_DELETE: (datasets.run_delete, datasets.record_dataset_failure),
    OperationKind.CODE_IMPORT: (code_imports.run_import, code_imports.record_import_failure),
    OperationKind.CODE_FETCH: (git_fetches.run_fetch, record_fetch_failure),
    OperationKind.BACKUP: (backups.run_backup, fail_claimed_operation),
    OperationKind.NOTICES: (notices.run_notices, fail_claimed_operation),
    OperationKind.REPAIR: (repairs.run_repair, repairs.record_repair_failure),
}


CAN_BEGIN: dict[str, Callable[[Cluster], bool]] = {OperationKind.DATASET_SAMPLE: datasets.can_write_samples}
"""If it returns False the row stays requested, and is published again later."""
