"""Unpacks an uploaded archive of code into a folder that is deleted afterwards."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.domain.code_files import (
    LARGEST_CODE_BYTES,
)
from cluster.domain.storage.upload_archives import ArchiveChecker, ArchiveLimits
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.trainings import CodeVersion
from worker.adapters.datasets.upload_archives import unpack_upload_archive
from worker.tasks.step_progress import StepProgress

LIMITS = ArchiveLimits(total_bytes=10 * LARGEST_CODE_BYTES, files=20_000, ratio_from=LARGEST_CODE_BYTES)
"""The limits are larger than those of a version, because caches and folders of version control in the archive are
left out afterwards.
"""
UNPACKED_PREFIX = "upload-code-"
"""The prefix of a folder that is deleted with interrupted uploads if this process is killed."""


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


def list_unpacked(folder: Path) -> Iterator[tuple[str, int]]:
    """Path and bytes of each file; the archive had nothing but files and folders."""
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent, name)
            yield str(path.relative_to(folder)), path.stat(follow_symlinks=False).st_size
