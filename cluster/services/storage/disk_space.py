"""Measures the disks of this installation, records a shortage, and keeps a ballast file that is deleted when a disk
is full.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import Unavailable
from cluster.domain.storage.disk_reserve import (
    DiskLevel,
    MonitoredDisk,
    disk_level_of,
    reserve_of,
)
from cluster.settings import Settings
from cluster.store.sql.disk_full import database_folder

LEVELS_BY_SEVERITY = list(DiskLevel)


@dataclass(frozen=True)
class DiskUsage:
    """Bytes. Space that the file system reserves for root is neither used nor free, as in `df`."""

    used: int
    free: int

    @property
    def total(self) -> int:
        return self.used + self.free

    @property
    def used_share(self) -> float:
        """A share, 0 to 1."""
        return self.used / self.total if self.total else 1.0


def read_disk_usage(folder: Path) -> DiskUsage:
    """The usage of the file system that contains this folder. Raises OSError."""
    found = shutil.disk_usage(folder)
    return DiskUsage(found.used, found.free)


def read_monitored_disks(
    settings: Settings, before: Mapping[str, DiskLevel] | None = None
) -> list[MonitoredDisk]:
    """Each file system once, that of the jobs first. `before` is the last level by mount point.

    A folder that cannot be read is left out.
    """
    found: dict[int, MonitoredDisk] = {}
    for folder in monitored_folders(settings):
        with suppress(OSError):
            volume = read_monitored_disk(settings, folder, before or {})
            found.setdefault(folder.stat().st_dev, volume)
    return list(found.values())


def monitored_folders(settings: Settings) -> list[Path]:
    folders = [settings.storage_dir, settings.state_dir, database_folder(settings.database_url)]
    there = (existing_ancestor(folder) for folder in folders if folder is not None)
    return list(dict.fromkeys(there))


def existing_ancestor(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((each for each in (folder, *folder.parents) if each.is_dir()), Path("/"))


def read_monitored_disk(settings: Settings, folder: Path, before: Mapping[str, DiskLevel]) -> MonitoredDisk:
    disk, mount = read_disk_usage(folder), str(mount_point_of(folder))
    reserve = reserve_of(disk.total, settings.disk_reserve_bytes)
    level = disk_level_of(disk.free, reserve, before.get(mount, DiskLevel.ROOM))
    storage = existing_ancestor(settings.storage_dir)
    return MonitoredDisk(
        mount, disk.free, disk.total, reserve, level, folder.stat().st_dev == storage.stat().st_dev
    )


def mount_point_of(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if os.path.ismount(each))


def most_critical_disk(volumes: Iterable[MonitoredDisk]) -> MonitoredDisk | None:
    """The disk with the greatest shortage. None if all have enough space."""
    short = [volume for volume in volumes if volume.level is not DiskLevel.ROOM]
    return max(
        short, key=lambda volume: (LEVELS_BY_SEVERITY.index(volume.level), volume.holds_jobs), default=None
    )


def require_disk_space(settings: Settings, needed: int = 0, of: Path | None = None) -> None:
    """Raises Unavailable, which names the disk, if so many bytes more would leave less than its reserve.

    The disk is that of the storage, or of the folder `of`.
    """
    volume = read_monitored_disk(settings, existing_ancestor(of or settings.storage_dir), {})
    if volume.free - needed < volume.reserve:
        raise Unavailable("disk.short", mount=volume.mount, free=volume.free, reserve=volume.reserve)


def read_storage_disk(settings: Settings) -> dict[str, object]:
    """Mount point, free bytes and reserve of the disk with jobs, datasets and code."""
    volume = read_monitored_disk(settings, existing_ancestor(settings.storage_dir), {})
    return {"mount": volume.mount, "free": volume.free, "reserve": volume.reserve}


def read_database_disk(settings: Settings) -> dict[str, object]:
    """Mount point and free bytes of the disk with the database. Empty if it is not known."""
    folder = database_folder(settings.database_url)
    if folder is None:
        return {}
    try:
        return {"mount": str(mount_point_of(folder)), "free": read_disk_usage(folder).free}
    except OSError:
        return {}
