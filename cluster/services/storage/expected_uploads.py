"""Counts what a workspace will store besides what was measured: archives that are being uploaded, and those that wait
to be unpacked. The name of an unfinished upload has its workspace and its future size, so that all processes of the
portal see it.
"""

import re
from contextlib import suppress

from sqlalchemy import select

from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.services.storage.orphaned_files import id_in_name
from cluster.store.datasets import Dataset

EXPECTED = re.compile(rf"{folders.UPLOAD_PREFIX}([0-9]{{1,9}})-([0-9]{{1,15}})-[0-9a-f]+", re.ASCII)
WAITING = r"dataset-([0-9]{1,9})"


def upload_name(workspace_id: int, size: int, secret: str) -> str:
    """`size` in bytes, as the request announces it."""
    return f"{folders.UPLOAD_PREFIX}{workspace_id}-{size}-{secret}"


def count_expected_bytes(cluster: Cluster, workspace_id: int) -> int:
    """Bytes of archives that are not unpacked yet."""
    expected, waiting = 0, {}
    for path in folders.incoming_folder(cluster.settings).iterdir():
        if (found := EXPECTED.fullmatch(path.name)) and int(found[1]) == workspace_id:
            expected += int(found[2])
        elif (number := id_in_name(path, WAITING)) is not None:
            with suppress(FileNotFoundError):  # It is unpacked by now.
                waiting[number] = path.stat(follow_symlinks=False).st_size
    if not waiting:
        return expected
    own = select(Dataset.id).where(Dataset.id.in_(waiting), Dataset.workspace_id == workspace_id)
    with cluster.store.read() as session:
        return expected + sum(waiting[number] for number in session.scalars(own))
