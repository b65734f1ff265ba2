"""Lists earlier versions of the software (releases, Ansible, environments, wheels), and what killed builds have left.

The versions in use are kept, and the newest other one of each kind, so that an update can be reverted. Embedded
installations of one machine share a cache, so none of them knows what others need there.
"""

import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.services.repairs.reclaimable_path import (
    DELETING_SUFFIX,
    ReclaimablePath,
    modified_at,
    tree_size,
)
from cluster.store.jobs import Attempt

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
"""Unfinished folders count as left by a killed build after this time, because a build takes less."""


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
