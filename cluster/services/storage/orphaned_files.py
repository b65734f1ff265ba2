"""Deletes files whose row was never committed: uploads and code that a killed process left, one day later."""

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
from cluster.services.storage.staged_code import STAGED_PREFIX
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training

ORPHANED_AFTER = timedelta(days=1)
"""Files without a row are deleted after this time. Uploads and transactions take less."""
CODE_PREFIX = "code-"
"""The prefix of archives of code. A task unpacks each within minutes, and nobody needs it a day later."""


def delete_orphaned_archives(cluster: Cluster) -> int:
    """Deletes interrupted uploads and archives without a dataset. Returns their number."""
    old = list(list_old_paths(cluster, folders.incoming_folder(cluster.settings)))
    named = {number: path for path in old if (number := id_in_name(path, r"dataset-(\d{1,9})"))}
    with cluster.store.read() as session:
        known = set(session.scalars(select(Dataset.id).where(Dataset.id.in_(named)))) if named else set()
    unowned = [path for number, path in named.items() if number not in known]
    left = [path for path in old if path.name.startswith((folders.UPLOAD_PREFIX, CODE_PREFIX))] + unowned
    if left:
        # A killed import of code leaves a folder.
        with safe_files.open_folder_path(left[0].parent) as incoming:
            for path in left:
                with external_call("leftovers.archive_forgotten"):
                    safe_files.remove_tree(incoming, path.name)
    return len(left)


def delete_orphaned_code(cluster: Cluster, workspace_id: int) -> int:
    """Deletes code without a training, or of a deleted one, and code that was never complete. Returns the number of
    deleted folders.
    """
    folder = folders.workspace_folder(cluster.settings, workspace_id) / "code"
    old = list(list_old_paths(cluster, folder))
    named = {number: path for path in old if (number := id_in_name(path, r"(\d{1,9})"))}
    alive = select(Training.id).where(Training.id.in_(named), Training.deleted_at.is_(None))
    with cluster.store.read() as session:
        known = set(session.scalars(alive)) if named else set()
    left = [path for path in old if path.name.startswith(STAGED_PREFIX)]
    left += [path for number, path in named.items() if number not in known]
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
            continue  # Another process has moved or deleted it in between.
        if cluster.clock() - touched > ORPHANED_AFTER:
            yield path


def id_in_name(path: Path, pattern: str) -> int | None:
    """The id in the name of a file or folder."""
    found = re.fullmatch(pattern, path.name, re.ASCII)
    return int(found[1]) if found else None
