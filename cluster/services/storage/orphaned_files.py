"""Deletes files whose row was never committed: uploads and code that a killed process left behind, one day later."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import select

from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training

ORPHANED_AFTER = timedelta(days=1)
"""No upload and no transaction takes that long."""
UPLOAD_PREFIX = "upload-"
"""Of files on their way in; once taken in they are named after their dataset."""


def delete_orphaned_archives(cluster: Cluster) -> int:
    """Uploads that were broken off, and archives of datasets that never came to be; how many."""
    old = list(list_old_paths(cluster, folders.incoming_folder(cluster.settings)))
    named = {number: path for path in old if (number := id_in_name(path, r"dataset-(\d{1,9})"))}
    with cluster.store.read() as session:
        known = set(session.scalars(select(Dataset.id).where(Dataset.id.in_(named)))) if named else set()
    unowned = [path for number, path in named.items() if number not in known]
    left = [path for path in old if path.name.startswith(UPLOAD_PREFIX)] + unowned
    for path in left:
        with external_call("leftovers.archive_forgotten"):
            path.unlink(missing_ok=True)
    return len(left)


def delete_orphaned_code(cluster: Cluster, workspace_id: int) -> int:
    """Code of trainings that never came to be; how many."""
    folder = folders.workspace_folder(cluster.settings, workspace_id) / "code"
    named = {
        number: path for path in list_old_paths(cluster, folder) if (number := id_in_name(path, r"(\d{1,9})"))
    }
    with cluster.store.read() as session:
        known = set(session.scalars(select(Training.id).where(Training.id.in_(named)))) if named else set()
    left = [path for number, path in named.items() if number not in known]
    if left:
        with safe_files.open_folder_path(folder) as code:
            for path in left:
                with external_call("leftovers.code_forgotten"), suppress(OSError):
                    safe_files.remove_tree(code, path.name)
    return len(left)


def list_old_paths(cluster: Cluster, folder: Path) -> Iterator[Path]:
    """Yields the paths that were modified more than a day ago."""
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            touched = datetime.fromtimestamp(path.stat(follow_symlinks=False).st_mtime, UTC)
        except FileNotFoundError:
            continue  # Taken in, or forgotten by somebody else, meanwhile.
        if cluster.clock() - touched > ORPHANED_AFTER:
            yield path


def id_in_name(path: Path, pattern: str) -> int | None:
    """The id for which a file or folder is named."""
    found = re.fullmatch(pattern, path.name, re.ASCII)
    return int(found[1]) if found else None
