"""Creates and opens the folders of an attempt by descriptors, from `jobs` down. All of them but `out` belong to us.

If the services do not run as root, their group may enter the folders as the job may, and may read `control`.
Otherwise only the job's group may enter.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.domain.errors import Refused
from cluster.domain.jobs.unix_ids import JobUnixIds
from cluster.files import safe_files
from cluster.files.safe_files import Owner
from worker.executors.contract import NotStarted, StartPlan

CONTROL = "control"
PASSABLE_BY_ALL = 0o751
"""The mode if services run as users of their own: their group may list the folder, and jobs may enter it."""
PASSABLE_BY_GROUP = 0o750


def check_plan_ids(plan: StartPlan, job_ids: JobUnixIds) -> None:
    """Raises NotStarted if a uid or gid of the plan belongs to no user or workspace of this installation."""
    try:
        for check, number in ((job_ids.check_uid, plan.program.uid), (job_ids.check_gid, plan.program.gid)):
            if number is not None:
                check(number)
    except Refused as refusal:
        raise NotStarted(refusal.code, **refusal.data) from refusal


@contextmanager
def open_created(plan: StartPlan) -> Iterator[int]:
    """Opens the attempt's folder and creates it if it is missing. Raises OSError, also if
    somebody else created it.
    """
    with open_attempt_folder(plan.folder, passing_mode(plan), passing_owner(plan)) as attempt:
        yield attempt


@contextmanager
def open_attempt_folder(folder: Path, mode: int | None = None, owner: Owner = (-1, -1)) -> Iterator[int]:
    """Opens `.../jobs/<job>/<attempt>`. From `jobs` on no link is followed, and all three folders must be our own.

    A missing folder is created if `mode` is given. Without `mode`, existing folders keep their modes and a missing
    one is created so that nobody else may enter.
    """
    folder.parent.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with safe_files.open_folder_path(folder.parent.parent.parent, folder.parent.parent.name) as jobs:
        safe_files.check_owner(jobs, "jobs", (os.geteuid(),))
        job = ensure_own_folder(jobs, folder.parent.name, mode, owner)
        try:
            attempt = ensure_own_folder(job, folder.name, mode, owner)
        finally:
            os.close(job)
    try:
        yield attempt
    finally:
        os.close(attempt)


def ensure_own_folder(parent: int, name: str, mode: int | None = None, owner: Owner = (-1, -1)) -> int:
    """Creates the folder or opens ours. Raises UnsafeFile if somebody else made it, because its contents could be
    theirs as well.
    """
    try:
        descriptor = safe_files.make_folder(parent, name)
    except FileExistsError:
        descriptor = safe_files.open_folder_at(name, parent)
    try:
        safe_files.check_owner(descriptor, name, (os.geteuid(),))
        if mode is not None:
            safe_files.set_owner_and_mode(descriptor, mode, owner)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def passing_owner(plan: StartPlan) -> Owner:
    if plan.program.services:
        return os.geteuid(), plan.program.services[1]
    return -1, -1 if plan.program.gid is None else plan.program.gid


def passing_mode(plan: StartPlan) -> int:
    return PASSABLE_BY_ALL if plan.program.services else PASSABLE_BY_GROUP


def out_folder_rights(plan: StartPlan, user: Owner) -> tuple[int, Owner]:
    """Mode and owner of the folders that belong to the job's user. Services that are not root
    read them by the group.
    """
    uid, gid = user
    return (0o2750, (uid, plan.program.services[1])) if plan.program.services else (0o700, (uid, gid))


def write_plan_file(control: int, content: Mapping[str, Any], owner: Owner = (-1, -1)) -> None:
    text = json.dumps(content, sort_keys=True).encode()
    safe_files.replace_file(control, "plan.json", text, 0o640, owner)


def read_own_file(folder: Path, name: str, most: int = 256 * 1024) -> bytes | None:
    """Reads a file in `control` that only we can have written. Returns None if there is no such file.

    The file may have a second name, under which it was made.
    """
    try:
        with safe_files.open_folder_path(folder) as attempt:
            control = safe_files.open_folder_at(CONTROL, attempt)
            try:
                safe_files.check_owner(control, CONTROL, (os.geteuid(),))
                return read_own_descriptor(control, name, most)
            finally:
                os.close(control)
    except OSError:
        return None


def read_own_descriptor(control: int, name: str, most: int) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | safe_files.FILE, dir_fd=control)
    try:
        safe_files.check_owner(descriptor, name, (os.geteuid(),))
        return safe_files.read_all(descriptor, most)
    finally:
        os.close(descriptor)


def read_own_json(folder: Path, name: str) -> dict[str, Any] | None:
    """The JSON object in such a file, or None if there is no such file."""
    content = read_own_file(folder, name)
    try:
        value = json.loads(content) if content else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
