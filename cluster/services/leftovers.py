"""Files for whose rows no transaction ever ended well: what a killed process left behind goes a day later."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import select

from cluster.crash_points import outside
from cluster.files import by_descriptor
from cluster.services import storage
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training

LEFT_AFTER = timedelta(days=1)
"""No upload and no transaction takes that long."""
RECEIVED = "upload-"
"""Of files on their way in; once taken in they are named after their dataset."""


def forget_archives(cluster: Cluster) -> int:
    """Uploads that were broken off, and archives of datasets that never came to be; how many."""
    old = list(old_ones(cluster, storage.incoming_folder(cluster.settings)))
    named = {number: path for path in old if (number := number_in(path, r"dataset-(\d{1,9})"))}
    with cluster.store.read() as session:
        known = set(session.scalars(select(Dataset.id).where(Dataset.id.in_(named)))) if named else set()
    unowned = [path for number, path in named.items() if number not in known]
    left = [path for path in old if path.name.startswith(RECEIVED)] + unowned
    for path in left:
        with outside("leftovers.archive_forgotten"):
            path.unlink(missing_ok=True)
    return len(left)


def forget_code(cluster: Cluster, workspace_id: int) -> int:
    """Code of trainings that never came to be; how many."""
    folder = storage.workspace_folder(cluster.settings, workspace_id) / "code"
    named = {number: path for path in old_ones(cluster, folder) if (number := number_in(path, r"(\d{1,9})"))}
    with cluster.store.read() as session:
        known = set(session.scalars(select(Training.id).where(Training.id.in_(named)))) if named else set()
    left = [path for number, path in named.items() if number not in known]
    if left:
        with by_descriptor.folder(folder) as code:
            for path in left:
                with outside("leftovers.code_forgotten"), suppress(OSError):
                    by_descriptor.remove_tree(code, path.name)
    return len(left)


def old_ones(cluster: Cluster, folder: Path) -> Iterator[Path]:
    """What was touched last more than a day ago."""
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            touched = datetime.fromtimestamp(path.stat(follow_symlinks=False).st_mtime, UTC)
        except FileNotFoundError:
            continue  # Taken in, or forgotten by somebody else, meanwhile.
        if cluster.clock() - touched > LEFT_AFTER:
            yield path


def number_in(path: Path, pattern: str) -> int | None:
    """The id for which a file or folder is named."""
    found = re.fullmatch(pattern, path.name, re.ASCII)
    return int(found[1]) if found else None
