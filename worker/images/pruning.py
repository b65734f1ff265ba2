"""Delete image archives and wheels that no site uses, except the newest of each variant."""

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from worker.environments.build_lock import hold_build_lock
from worker.environments.build_steps import ProgressCallback
from worker.environments.wheels import WheelFolder
from worker.images.image_record import image_record_path, read_image_record

VERSIONS_KEPT = 2
"""Archives that are kept of each variant besides those in use, so that returning to the last
release needs no build.
"""


def prune_images(
    cache: Path, in_use: Collection[Path], wheels: Collection[Path], report: ProgressCallback
) -> list[Path]:
    """Deletes old archives, unfinished builds and unused wheels, and returns the deleted paths.

    It waits for a running build of the cache. `wheels` are the wheel folders of this version's variants.
    """
    if not cache.is_dir():
        return []
    with hold_build_lock(cache, report):
        gone = [
            *find_outdated_archives(cache, in_use),
            *find_unfinished_builds(cache),
            *find_unused_wheels(cache, wheels),
        ]
        for path in gone:
            delete_archive(path)
    return gone


def find_outdated_archives(cache: Path, in_use: Collection[Path]) -> Iterator[Path]:
    """The archives that are not in use, except the newest `VERSIONS_KEPT` of each variant."""
    known = defaultdict(list)
    for archive in cache.glob("*.tar"):
        image = read_image_record(archive)
        if image is not None and archive not in in_use:
            known[image.name, image.variant].append((image.made_at, archive))
    for made in known.values():
        yield from (archive for _, archive in sorted(made)[:-VERSIONS_KEPT])


def find_unfinished_builds(cache: Path) -> list[Path]:
    """Files and folders of builds that did not finish. The caller holds the build lock, so none of them belongs to a
    running build.
    """
    halves = [*cache.glob(".*.tar.*.unfinished"), *cache.glob("*.building")]
    return halves + [archive for archive in cache.glob("*.tar") if read_image_record(archive) is None]


def find_unused_wheels(cache: Path, wheels: Collection[Path]) -> list[Path]:
    """Complete and partial wheel folders of earlier descriptions. Images that are already built do not need them."""
    partial = {WheelFolder(path).partial for path in wheels}
    return sorted(path for path in cache.glob("wheels-*") if path not in wheels and path not in partial)


def delete_archive(path: Path) -> None:
    """Deletes the record before the archive: if this process is killed in between, the
    archive counts as unfinished.
    """
    if path.is_dir():
        shutil.rmtree(path)
        return
    image_record_path(path).unlink(missing_ok=True)
    path.unlink()
