"""Measures the disks of this installation, records a shortage, and keeps a ballast file that is deleted when a disk
is full.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from cluster.domain.errors import Unavailable
from cluster.domain.queue.reasons import DiskBelowReserve
from cluster.domain.storage.disk_reserve import (
    DiskLevel,
    MonitoredDisk,
    ballast_of,
    can_keep_ballast,
    disk_level_of,
    reserve_of,
)
from cluster.failpoints import external_call
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.settings import Settings
from cluster.store.facts import InstallationFact, read_fact
from cluster.store.jobs import Job
from cluster.store.sql.disk_full import database_folder

DISK_SHORTAGE_FACT = "disk_shortage"
BALLAST = "ballast"
MAX_LARGEST_JOBS = 3
"""The number of jobs that are named when a disk is short."""
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


@dataclass(frozen=True)
class DiskShortage:
    """The disk with the least space, the beginning of the shortage, and the jobs with the
    largest files: (id, bytes).
    """

    disk: MonitoredDisk
    since: datetime
    largest_jobs: Sequence[Sequence[int]] = ()

    @property
    def reason(self) -> DiskBelowReserve:
        fillers = [list(filler) for filler in self.largest_jobs]
        return DiskBelowReserve(self.disk.mount, self.disk.free, self.disk.reserve, fillers)


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


def ballast_files(settings: Settings) -> list[Path]:
    """A path on each of our file systems: beside the logs, beside the database, and beside the jobs' files."""
    found: dict[int, Path] = {}
    for folder in (settings.state_dir, database_folder(settings.database_url), settings.storage_dir):
        with suppress(OSError):
            if folder is not None and folder.is_relative_to(settings.state_dir):
                found.setdefault(folder.stat().st_dev, folder / BALLAST)
    return list(found.values())


def ensure_ballast(settings: Settings, volumes: Iterable[MonitoredDisk]) -> None:
    """Makes the files that are deleted when the disk is full; can be repeated. A disk that refuses gets none."""
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


def read_disk_shortage(cluster: Cluster) -> DiskShortage | None:
    """The shortage as the scheduler last recorded it. None while all disks have space."""
    with cluster.store.read() as session:
        return load_disk_shortage(session)


def load_disk_shortage(session: Session) -> DiskShortage | None:
    return read_fact(session, DISK_SHORTAGE_FACT, parse_disk_shortage)


def parse_disk_shortage(said: Mapping[str, Any]) -> DiskShortage:
    volume = MonitoredDisk(**{**said["volume"], "level": DiskLevel(said["volume"]["level"])})
    return DiskShortage(volume, datetime.fromisoformat(said["since"]), said["fillers"])


def record_disk_shortage(
    cluster: Cluster, held: HeldLease, volume: MonitoredDisk | None, running: Mapping[int, int] | None = None
) -> None:
    """Records the shortage that pages, waiting reasons and mails show. `running` has the file sizes of running jobs.
    Raises LeaseLost."""
    with cluster.store.write() as session:
        check_lease(session, held)
        known = load_disk_shortage(session)
        if volume is None:
            session.execute(delete(InstallationFact).where(InstallationFact.name == DISK_SHORTAGE_FACT))
        else:
            since = known.since if known and known.disk.mount == volume.mount else cluster.clock()
            value = {
                "volume": asdict(volume),
                "since": since.isoformat(),
                "fillers": read_largest_jobs(session, running or {}),
            }
            session.merge(InstallationFact(name=DISK_SHORTAGE_FACT, value=value))
    cluster.events.publish("queue", 0)
    cluster.events.publish("nodes", 0)


def read_largest_jobs(session: Session, running: Mapping[int, int]) -> list[list[int]]:
    """The jobs with the largest files, whether they run or have ended."""
    query = (
        select(Job.id, Job.storage_bytes)
        .where(Job.storage_bytes > 0, Job.files_deleted_at.is_(None))
        .order_by(Job.storage_bytes.desc(), Job.id)
        .limit(MAX_LARGEST_JOBS)
    )
    sizes = {job_id: size for job_id, size in session.execute(query)}  # noqa: C416
    for job_id, size in running.items():
        sizes[job_id] = size + (sizes.get(job_id) or 0)
    largest = sorted(sizes.items(), key=lambda pair: (-(pair[1] or 0), pair[0]))[:MAX_LARGEST_JOBS]
    return [[job_id, size] for job_id, size in largest if size]
