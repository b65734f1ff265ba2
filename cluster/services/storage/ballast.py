"""A file on the disk of the database that is deleted once the disk is full, so that jobs can still be ended."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from cluster.domain.storage.disk_reserve import (
    DiskLevel,
    MonitoredDisk,
    ballast_of,
    can_keep_ballast,
)
from cluster.failpoints import external_call
from cluster.services.storage.disk_space import mount_point_of
from cluster.settings import Settings
from cluster.store.sql.disk_full import database_folder

BALLAST = "ballast"


def ballast_files(settings: Settings) -> list[Path]:
    """A path on each of our file systems: beside the logs, beside the database, and beside the jobs' files."""
    found: dict[int, Path] = {}
    for folder in (settings.state_dir, database_folder(settings.database_url), settings.storage_dir):
        with suppress(OSError):
            if folder is not None and folder.is_relative_to(settings.state_dir):
                found.setdefault(folder.stat().st_dev, folder / BALLAST)
    return list(found.values())


def ensure_ballast(settings: Settings, volumes: Iterable[MonitoredDisk]) -> None:
    """Makes the files that are deleted when the disk is full; can be repeated. A disk may refuse the file."""
    by_mount = {volume.mount: volume for volume in volumes}
    for file in ballast_files(settings):
        with suppress(OSError):
            volume = by_mount.get(str(mount_point_of(file.parent)))
            if volume is None or volume.level is not DiskLevel.ROOM or not can_keep_ballast(volume):
                continue
            size = ballast_of(volume.reserve)
            if file.is_symlink() or not file.exists():
                make_ballast(file, size)


def make_ballast(file: Path, size: int) -> None:
    if size <= 0:
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with external_call("disks.ballast_made"):
        descriptor = os.open(file, flags, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            file.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def release_ballast(settings: Settings) -> bool:
    """Deletes the files, so that database and logs can be written. Returns whether there were any. It can be
    repeated.
    """
    released = False
    for file in ballast_files(settings):
        with suppress(OSError), external_call("disks.ballast_released"):
            file.unlink()
            released = True
    return released
