"""What earlier versions of the software have left on servers: versions, Ansible, training environments, packages.

Only names that we give are looked at. What is in use stays, and the newest other one of each kind: a release that is
taken back finds its own. The embedded sets of one machine share a cache, so none of them knows what is of no use there.
"""

import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from cluster.domain.repairs import Installation
from cluster.services.context import Cluster
from cluster.services.environments import read_default_environment
from cluster.services.repair_catalogue import installation_of
from cluster.services.spare import GONE, Leftover, modified, size_of
from cluster.store.jobs import Attempt

HASH = r"[0-9a-f]{12}"
VERSION = re.compile(rf"\d{{1,9}}(\.\d{{1,9}}){{1,5}}-{HASH}")
TOOLS = re.compile(rf"ansible-{HASH}")
ENVIRONMENT = re.compile(rf"training-{HASH}")
PACKAGES = re.compile(rf"wheels-{HASH}")
UNFINISHED = re.compile(
    rf"(training|wheels|ansible|\d{{1,9}}(\.\d{{1,9}}){{1,5}})-{HASH}\.(building|partial)"
)
HALF_GONE = re.compile(rf"(training|wheels|ansible|\d{{1,9}}(\.\d{{1,9}}){{1,5}})-{HASH}{re.escape(GONE)}")
BUILT_WITHIN = timedelta(days=1)
"""No build takes that long."""


def old_versions(cluster: Cluster) -> Iterator[Leftover]:
    """Nothing where it is not known what is in use."""
    settings = cluster.settings
    if installation_of(settings) is not Installation.SERVERS or settings.ansible_dir is None:
        return
    home, cache = settings.ansible_dir.parent, settings.cache_dir
    if (home / "current").is_symlink():
        yield from outlived(home, VERSION, {(home / "current").resolve().name}, "leftover.version")
    if settings.ansible_programs is not None:
        yield from outlived(home, TOOLS, {settings.ansible_programs.parent.name}, "leftover.ansible")
    yield from old_environments(cluster)
    yield from outlived(cache, PACKAGES, set(), "leftover.packages")
    for folder in (home, cache):
        yield from unfinished(folder, cluster.clock())


def old_environments(cluster: Cluster) -> Iterator[Leftover]:
    """A job that began before the newest other one stood may still be at work in an older one."""
    default = read_default_environment(cluster)
    if default is None or not default.path:
        return
    cache, in_use = cluster.settings.cache_dir, {Path(default.path).name}
    others = others_of(cache, ENVIRONMENT, in_use)
    if not others:
        return
    with cluster.store.read() as session:
        oldest = session.scalar(select(func.min(Attempt.created_at)).where(Attempt.ended_at.is_(None)))
    if oldest is None or oldest.timestamp() > modified(others[0]):
        yield from outlived(cache, ENVIRONMENT, in_use, "leftover.environment")


def outlived(folder: Path, name: re.Pattern[str], in_use: Collection[str], code: str) -> Iterator[Leftover]:
    """All but those in use and the newest other one; where none is in use, all but the newest two."""
    spared = 1 if in_use else 2
    for path in others_of(folder, name, in_use)[spared:]:
        yield Leftover(path, size_of(path), code)


def others_of(folder: Path, name: re.Pattern[str], in_use: Collection[str]) -> list[Path]:
    """Newest first."""
    found = [path for path in folders_in(folder) if name.fullmatch(path.name) and path.name not in in_use]
    return sorted(found, key=modified, reverse=True)


def unfinished(folder: Path, now: datetime) -> Iterator[Leftover]:
    """What builds and deletions have left that were killed."""
    for path in sorted(folders_in(folder)):
        if HALF_GONE.fullmatch(path.name):
            yield Leftover(path, size_of(path), "leftover.half_gone")
        elif (
            UNFINISHED.fullmatch(path.name)
            and now - datetime.fromtimestamp(modified(path), UTC) > BUILT_WITHIN
        ):
            yield Leftover(path, size_of(path), "leftover.unfinished")


def folders_in(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            yield path
