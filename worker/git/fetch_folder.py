"""The folder of one fetch: made for git's user alone, and deleted whatever happens."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from cluster.domain.jobs.unix_ids import UnixIds
from cluster.failpoints import external_call
from cluster.files import safe_files

WORK_PREFIX = "groundcrew-git-"
FORGOTTEN_SECONDS = 24 * 3600


def new_folder_name() -> str:
    return f"{WORK_PREFIX}{secrets.token_hex(8)}"


@contextlib.contextmanager
def fetch_folder(place: Path, name: str, ids: UnixIds | None) -> Iterator[None]:
    remove_forgotten(place)
    with safe_files.open_folder_path(place) as work:
        with external_call("git_fetch.folder_made"):
            descriptor = safe_files.make_folder(work, name)
        try:
            safe_files.set_owner_and_mode(descriptor, 0o700, (ids.uid, ids.gid) if ids else (-1, -1))
            yield
        finally:
            os.close(descriptor)
            with external_call("git_fetch.folder_removed"):
                safe_files.remove_tree(work, name)


def remove_forgotten(work: Path) -> None:
    """Deletes the folder that a killed task has left. It belongs to nobody else: its name is ours, and its fetch is
    over.
    """
    for folder in work.glob(f"{WORK_PREFIX}*"):
        try:
            is_old = folder.stat(follow_symlinks=False).st_mtime < time.time() - FORGOTTEN_SECONDS
        except FileNotFoundError:
            continue
        if is_old:
            with safe_files.open_folder_path(work) as parent:
                safe_files.remove_tree(parent, folder.name)


def write_private_file(path: Path, content: str, ids: UnixIds | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if ids is not None:
            os.fchown(descriptor, ids.uid, ids.gid)
        file.write(content)
