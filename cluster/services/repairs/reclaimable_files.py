"""Lists what can be deleted to free disk space, each path with its size and reason, and deletes it without following
links.

Only names that we give in our own folders are considered, and only if no row refers to them. Of earlier versions of
the software (releases, Ansible, training environments, wheels) those in use are kept, and the newest other one of
each kind, so that an update can be reverted. Embedded installations of one machine share a cache, so none of them
knows what others need there.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.services.backups.pre_restore_copies import PRE_RESTORE_PREFIX
from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.store.jobs import Attempt
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun

COPIES_KEPT = 2
"""The number of copies from before migrations that are kept, the newest ones."""

LOGS_KEPT_FOR = timedelta(days=90)


DELETING_SUFFIX = ".gone"
"""The suffix of a folder that is being deleted: if the process is killed, the rest is not taken for a complete
folder."""


@dataclass(frozen=True)
class ReclaimablePath:
    """`code` is the reason. `size` is in bytes and includes the contents of a folder."""

    path: Path
    size: int
    code: str


def tree_size(path: Path) -> int:
    """The size in bytes. Files that disappear in between count as zero."""
    if path.is_symlink() or not path.is_dir():
        return path_size(path)
    return sum(path_size(Path(folder, name)) for folder, _, names in os.walk(path) for name in names)


def path_size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def modified_at(path: Path) -> float:
    return path.stat(follow_symlinks=False).st_mtime


def delete_reclaimable_path(path: Path) -> None:
    """Deletes the path without following links in it, because root may delete folders of services."""
    with external_call("leftovers.delete"), safe_files.open_folder_path(path.parent) as parent:
        if safe_files.kind_at(parent, path.name) != stat.S_IFDIR:
            safe_files.remove_name(parent, path.name)
            return
        going = path.name
        if path.suffix != DELETING_SUFFIX:
            going = f"{path.name}{DELETING_SUFFIX}"
            safe_files.remove_tree(parent, going)  # The folder was half deleted before and then built again.
            safe_files.move_at(parent, path.name, parent, going)
        safe_files.remove_tree(parent, going)


HASH = r"[0-9a-f]{12}"
VERSION_NAME = re.compile(rf"\d{{1,9}}(\.\d{{1,9}}){{1,5}}-{HASH}")
ANSIBLE_NAME = re.compile(rf"ansible-{HASH}")
ENVIRONMENT_NAME = re.compile(rf"training-{HASH}")
WHEELS_NAME = re.compile(rf"wheels-{HASH}")
UNFINISHED_NAME = re.compile(
    rf"(training|wheels|ansible|\d{{1,9}}(\.\d{{1,9}}){{1,5}})-{HASH}\.(building|partial)"
)
HALF_DELETED_NAME = re.compile(
    rf"(training|wheels|ansible|\d{{1,9}}(\.\d{{1,9}}){{1,5}})-{HASH}{re.escape(DELETING_SUFFIX)}"
)
LONGEST_BUILD = timedelta(days=1)
"""A build takes less time than this."""


def old_versions(cluster: Cluster) -> Iterator[ReclaimablePath]:
    """Yields nothing if the versions in use are unknown."""
    settings = cluster.settings
    if not settings.installation_kind.capabilities.keeps_old_versions or settings.ansible_dir is None:
        return
    home, cache = settings.ansible_dir.parent, settings.cache_dir
    if (home / "current").is_symlink():
        yield from superseded_folders(
            home, VERSION_NAME, {(home / "current").resolve().name}, "leftover.version"
        )
    if settings.ansible_programs is not None:
        yield from superseded_folders(
            home, ANSIBLE_NAME, {settings.ansible_programs.parent.name}, "leftover.ansible"
        )
    yield from old_environments(cluster)
    yield from superseded_folders(cache, WHEELS_NAME, set(), "leftover.packages")
    for folder in (home, cache):
        yield from unfinished_builds(folder, cluster.clock())


def old_environments(cluster: Cluster) -> Iterator[ReclaimablePath]:
    """A job that began before the newest other environment was built may still use an older one."""
    default = read_default_environment(cluster)
    if default is None or not default.path:
        return
    cache, in_use = cluster.settings.cache_dir, {Path(default.path).name}
    others = list_other_folders(cache, ENVIRONMENT_NAME, in_use)
    if not others:
        return
    with cluster.store.read() as session:
        oldest = session.scalar(select(func.min(Attempt.created_at)).where(Attempt.ended_at.is_(None)))
    if oldest is None or oldest.timestamp() > modified_at(others[0]):
        yield from superseded_folders(cache, ENVIRONMENT_NAME, in_use, "leftover.environment")


def superseded_folders(
    folder: Path, name: re.Pattern[str], in_use: Collection[str], code: str
) -> Iterator[ReclaimablePath]:
    """Yields all folders except those in use and the newest other one. If none is in use, the newest two stay."""
    spared = 1 if in_use else 2
    for path in list_other_folders(folder, name, in_use)[spared:]:
        yield ReclaimablePath(path, tree_size(path), code)


def list_other_folders(folder: Path, name: re.Pattern[str], in_use: Collection[str]) -> list[Path]:
    """The folders, newest first."""
    found = [
        path for path in list_subfolders(folder) if name.fullmatch(path.name) and path.name not in in_use
    ]
    return sorted(found, key=modified_at, reverse=True)


def unfinished_builds(folder: Path, now: datetime) -> Iterator[ReclaimablePath]:
    """Yields what killed builds and deletions have left."""
    for path in sorted(list_subfolders(folder)):
        if HALF_DELETED_NAME.fullmatch(path.name):
            yield ReclaimablePath(path, tree_size(path), "leftover.half_gone")
        elif (
            UNFINISHED_NAME.fullmatch(path.name)
            and now - datetime.fromtimestamp(modified_at(path), UTC) > LONGEST_BUILD
        ):
            yield ReclaimablePath(path, tree_size(path), "leftover.unfinished")


def list_subfolders(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            yield path


def list_reclaimable_paths(cluster: Cluster) -> list[ReclaimablePath]:
    """The paths, largest first. The disk is read and not changed."""
    now = cluster.clock()
    with cluster.store.read() as session:
        named = read_open_operation_ids(session)
    found = [*old_database_copies(cluster), *old_logs(cluster, now, named), *old_versions(cluster)]
    return sorted(found, key=lambda leftover: (-leftover.size, str(leftover.path)))


def read_open_operation_ids(session: Session) -> set[int]:
    """The operations that have not ended, whose logs are still written."""
    return set(session.scalars(select(Operation.id).where(Operation.ended_at.is_(None))))


def old_database_copies(cluster: Cluster) -> Iterator[ReclaimablePath]:
    """Copies of the database that migrations made, except the newest. Copies of restores are deleted with the
    backups.
    """
    found = (cluster.settings.state_dir / "database").glob("before-*.db")
    copies = sorted((path for path in found if not path.name.startswith(PRE_RESTORE_PREFIX)), key=modified_at)
    for path in copies[:-COPIES_KEPT]:
        yield ReclaimablePath(path, path.stat().st_size, "leftover.database_copy")


def operation_of_log(path: Path) -> int | None:
    """The operation whose log has this name."""
    digits = "".join(sign for sign in path.stem if sign.isdigit())
    return int(digits) if digits else None


def old_logs(cluster: Cluster, now: datetime, still: set[int]) -> Iterator[ReclaimablePath]:
    for path in sorted((cluster.settings.state_dir / "log").glob("operation-*.log")):
        if modified_at(path) < (now - LOGS_KEPT_FOR).timestamp() and operation_of_log(path) not in still:
            yield ReclaimablePath(path, path.stat().st_size, "leftover.log")


def delete_reclaimable_of_run(cluster: Cluster, run_id: int) -> list[ReclaimablePath]:
    """Deletes what the run's preview listed and what is still reclaimable; returns it. Raises NotFound."""
    with cluster.store.read() as session:
        run = session.get(RepairRun, run_id)
    if run is None:
        raise NotFound("repair", run_id)
    listed = {path for path, _ in run.reclaimable_paths}
    gone = [leftover for leftover in list_reclaimable_paths(cluster) if str(leftover.path) in listed]
    for leftover in gone:
        delete_reclaimable_path(leftover.path)
    return gone
