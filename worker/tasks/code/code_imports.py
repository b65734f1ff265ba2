"""Imports a version of code: unpacks an archive and merges its files with those of the version before."""

from typing import Any

from cluster.domain.errors import Refused
from cluster.failpoints import external_call
from cluster.services import code_imports
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.services.storage.staged_code import staged_code
from cluster.store.operations import Operation
from worker.tasks.code.merged_code import merge_files
from worker.tasks.code.unpacked_code import unpacked_archive
from worker.tasks.step_progress import StepProgress


def run_import(cluster: Cluster, operation: Operation) -> None:
    """Imports the archive. It may run twice, because no file is in its final place before the row is committed."""
    training, version = code_imports.read_import(cluster, operation)
    settings = cluster.settings
    reporter = StepProgress(cluster, operation, {"unpack": 9.0, "look_through": 1.0})
    reporter.start()
    archive = folders.incoming_code(settings, training.id, version.number)
    if not archive.is_file():
        raise Refused("code", "code.archive_gone", name=version.origin)
    with unpacked_archive(settings, archive, version, reporter) as folder:
        reporter.report("look_through", 0.0)
        files = merge_files(cluster, training, version, folder)
        with staged_code(settings, training.workspace_id, files) as staged:
            code_imports.finish_import(cluster, operation, staged)
    with external_call("code_imports.archive_removed"):
        archive.unlink(missing_ok=True)


def record_import_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    code_imports.fail_import(cluster, operation, code, data)
