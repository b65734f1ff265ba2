"""Imports a version of code: unpacks an archive and merges its files with those of the version before."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.domain.code_files import (
    LARGEST_CODE_BYTES,
    check_code_path,
    check_code_size,
    find_wrapping_folder,
    is_ignored,
    plan_code_change,
)
from cluster.domain.errors import Refused
from cluster.domain.storage.upload_archives import ArchiveChecker, ArchiveLimits
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.files.safe_read import open_file_beneath, open_file_size
from cluster.services import code_imports, code_versions
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.services.storage.staged_code import staged_code
from cluster.settings import Settings
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, Training
from worker.adapters.datasets.upload_archives import unpack_upload_archive
from worker.tasks.step_progress import StepProgress

LIMITS = ArchiveLimits(total_bytes=10 * LARGEST_CODE_BYTES, files=20_000, ratio_from=LARGEST_CODE_BYTES)
"""The limits are larger than those of a version, because caches and folders of version control in the archive are
left out afterwards.
"""
UNPACKED_PREFIX = "upload-code-"
"""The prefix of a folder that is deleted with interrupted uploads if this process is killed."""


def run_import(cluster: Cluster, operation: Operation) -> None:
    """Imports the archive. It may run twice: no file is in its final place before the row says so."""
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


@contextmanager
def unpacked_archive(
    settings: Settings, archive: Path, version: CodeVersion, reporter: StepProgress
) -> Iterator[Path]:
    """Yields a folder beside the uploads, which only services may enter."""
    name = f"{UNPACKED_PREFIX}{secrets.token_hex(8)}"
    incoming = folders.incoming_folder(settings)
    with safe_files.open_folder_path(incoming) as parent:
        with external_call("code_imports.folder_made"):
            os.close(safe_files.make_folder(parent, name))
        try:
            verdict = ArchiveChecker(archive.stat().st_size, LIMITS, settings.unicode_file_names)
            with external_call("code_imports.unpack"):
                unpack_upload_archive(
                    archive,
                    version.origin,
                    incoming / name,
                    verdict,
                    lambda share: reporter.report("unpack", share),
                )
            yield incoming / name
        finally:
            with external_call("code_imports.folder_removed"):
                safe_files.remove_tree(parent, name)


def merge_files(
    cluster: Cluster, training: Training, version: CodeVersion, folder: Path
) -> Iterator[tuple[str, bytes]]:
    """Yields the archive's files, then the files of the version before that stay. Raises Refused before the first
    one.
    """
    settings = cluster.settings
    found = {path: size for path, size in list_unpacked(folder) if not is_ignored(path)}
    wrapping = find_wrapping_folder(list(found), version.origin)
    paths = {
        check_code_path(path.removeprefix(f"{wrapping}/"), settings.unicode_file_names): path
        for path in found
    }
    before = code_versions.read_base(cluster, training, version.base or 0)
    change = plan_code_change([file.path for file in before], list(paths))
    sizes = {path: found[unpacked] for path, unpacked in paths.items()}
    check_code_size(sizes | {file.path: file.size for file in before if file.path in set(change.kept)})
    return read_files(settings, training, version, folder, paths, change.kept)


def read_files(
    settings: Settings,
    training: Training,
    version: CodeVersion,
    folder: Path,
    paths: dict[str, str],
    kept: Sequence[str],
) -> Iterator[tuple[str, bytes]]:
    for path, unpacked in paths.items():
        with open_file_beneath(folder, *unpacked.split("/")) as file:
            yield path, file.read(open_file_size(file))
    for path in kept:
        yield path, code_versions.read_code_content(settings, training, version.base or 0, path)


def list_unpacked(folder: Path) -> Iterator[tuple[str, int]]:
    """Path and bytes of each file; the archive had nothing but files and folders."""
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent, name)
            yield str(path.relative_to(folder)), path.stat(follow_symlinks=False).st_size


def record_import_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    code_imports.fail_import(cluster, operation, code, data)
