"""What stays in the cache of images: those that a site uses, the newest of each variant beside them, their packages."""

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from worker.environments.build import only_one
from worker.environments.steps import Report
from worker.environments.wheels import Wheels
from worker.images.record import read_record, record_path

KEPT = 2
"""Of each variant, beside those in use: a release that is taken back finds its own without building for minutes."""


def prune(cache: Path, in_use: Collection[Path], wheels: Collection[Path], report: Report) -> list[Path]:
    """Deletes the others and what killed builds have left; gives back what it deleted. Waits for a build under way.

    `wheels`: the folders of packages that this version builds its variants from.
    """
    if not cache.is_dir():
        return []
    with only_one(cache, report):
        gone = [*outdated(cache, in_use), *unfinished(cache), *others(cache, wheels)]
        for path in gone:
            delete(path)
    return gone


def outdated(cache: Path, in_use: Collection[Path]) -> Iterator[Path]:
    """Archives, those of each variant from the oldest on."""
    known = defaultdict(list)
    for archive in cache.glob("*.tar"):
        image = read_record(archive)
        if image is not None and archive not in in_use:
            known[image.name, image.variant].append((image.made_at, archive))
    for made in known.values():
        yield from (archive for _, archive in sorted(made)[:-KEPT])


def unfinished(cache: Path) -> list[Path]:
    """The lock is ours, so nobody builds: an archive without its record, a half of one, a folder to build in."""
    halves = [*cache.glob(".*.tar.partial"), *cache.glob("*.building")]
    return halves + [archive for archive in cache.glob("*.tar") if read_record(archive) is None]


def others(cache: Path, wheels: Collection[Path]) -> list[Path]:
    """Packages of earlier descriptions, whole or half: an image that is kept is pushed without them."""
    partial = {Wheels(path).partial for path in wheels}
    return sorted(path for path in cache.glob("wheels-*") if path not in wheels and path not in partial)


def delete(path: Path) -> None:
    """The record first: killed in between, what is left counts as unfinished."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    record_path(path).unlink(missing_ok=True)
    path.unlink()
