"""How full the disks of this installation are, which of them are short, and who fills them."""

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

from cluster.crash_points import outside
from cluster.domain.disks import Level, Volume, ballast_of, level_of, may_keep_ballast, reserve_of
from cluster.domain.errors import Unavailable
from cluster.domain.reasons import DiskShort
from cluster.services.context import Cluster
from cluster.services.leases import Held, check_lease
from cluster.settings import Settings
from cluster.store.engine import database_folder
from cluster.store.jobs import Job
from cluster.store.leases import Fact

SHORTAGE = "disk_shortage"
BALLAST = "ballast"
FILLERS = 3
"""Jobs that are named where a disk is short."""
GRAVEST = list(Level)


@dataclass(frozen=True)
class Disk:
    """Bytes. What the file system keeps for root or denies us counts as neither, as in `df`."""

    used: int
    free: int

    @property
    def whole(self) -> int:
        return self.used + self.free

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.used / self.whole if self.whole else 1.0


@dataclass(frozen=True)
class Shortage:
    """The volume of which the least is left, since when, and the jobs with the largest files: (id, bytes)."""

    volume: Volume
    since: datetime
    fillers: Sequence[Sequence[int]] = ()

    @property
    def reason(self) -> DiskShort:
        fillers = [list(filler) for filler in self.fillers]
        return DiskShort(self.volume.mount, self.volume.free, self.volume.reserve, fillers)


def disk_of(folder: Path) -> Disk:
    """Of the file system that holds this folder. Raises OSError."""
    found = shutil.disk_usage(folder)
    return Disk(found.used, found.free)


def read_volumes(settings: Settings, before: Mapping[str, Level] | None = None) -> list[Volume]:
    """Each file system once, the one that jobs write to first; `before` is the level by mount at the last look.

    A folder that cannot be looked at is left out.
    """
    found: dict[int, Volume] = {}
    for folder in watched_folders(settings):
        with suppress(OSError):
            volume = volume_of(settings, folder, before or {})
            found.setdefault(folder.stat().st_dev, volume)
    return list(found.values())


def watched_folders(settings: Settings) -> list[Path]:
    folders = [settings.storage_dir, settings.state_dir, database_folder(settings.database_url)]
    there = (existing(folder) for folder in folders if folder is not None)
    return list(dict.fromkeys(there))


def existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next((each for each in (folder, *folder.parents) if each.is_dir()), Path("/"))


def volume_of(settings: Settings, folder: Path, before: Mapping[str, Level]) -> Volume:
    disk, mount = disk_of(folder), str(mount_of(folder))
    reserve = reserve_of(disk.whole, settings.disk_reserve_bytes)
    level = level_of(disk.free, reserve, before.get(mount, Level.ROOM))
    storage = existing(settings.storage_dir)
    return Volume(mount, disk.free, disk.whole, reserve, level, folder.stat().st_dev == storage.stat().st_dev)


def mount_of(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if os.path.ismount(each))


def gravest(volumes: Iterable[Volume]) -> Volume | None:
    """The one that is shortest of room; None where all have enough."""
    short = [volume for volume in volumes if volume.level is not Level.ROOM]
    return max(short, key=lambda volume: (GRAVEST.index(volume.level), volume.holds_jobs), default=None)


def require_room(settings: Settings, needed: int = 0, of: Path | None = None) -> None:
    """Raises Unavailable naming the disk where so many bytes more would leave less than its reserve.

    Of the disk that holds the storage, or the folder `of`.
    """
    volume = volume_of(settings, existing(of or settings.storage_dir), {})
    if volume.free - needed < volume.reserve:
        raise Unavailable("disk.short", mount=volume.mount, free=volume.free, reserve=volume.reserve)


def read_storage_disk(settings: Settings) -> dict[str, object]:
    """Mount point, free bytes and reserve of the disk that jobs, datasets and code are on."""
    volume = volume_of(settings, existing(settings.storage_dir), {})
    return {"mount": volume.mount, "free": volume.free, "reserve": volume.reserve}


def read_database_disk(settings: Settings) -> dict[str, object]:
    """Mount point and free bytes of the disk on which the database lies; empty where that is not known."""
    folder = database_folder(settings.database_url)
    if folder is None:
        return {}
    try:
        return {"mount": str(mount_of(folder)), "free": disk_of(folder).free}
    except OSError:
        return {}


def ballast_files(settings: Settings) -> list[Path]:
    """One on each file system of ours: beside the logs, beside the database, beside the jobs' files."""
    found: dict[int, Path] = {}
    for folder in (settings.state_dir, database_folder(settings.database_url), settings.storage_dir):
        with suppress(OSError):
            if folder is not None and folder.is_relative_to(settings.state_dir):
                found.setdefault(folder.stat().st_dev, folder / BALLAST)
    return list(found.values())


def keep_ballast(settings: Settings, volumes: Iterable[Volume]) -> None:
    """Makes the files that are removed when the disk is full. Safe to repeat; a disk that refuses has none."""
    by_mount = {volume.mount: volume for volume in volumes}
    for file in ballast_files(settings):
        with suppress(OSError):
            volume = by_mount.get(str(mount_of(file.parent)))
            if volume is None or volume.level is not Level.ROOM or not may_keep_ballast(volume):
                continue
            size = ballast_of(volume.reserve)
            if file.is_symlink() or not file.exists():
                make_ballast(file, size)


def make_ballast(file: Path, size: int) -> None:
    if size <= 0:
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with outside("disks.ballast_made"):
        descriptor = os.open(file, flags, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            file.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def release_ballast(settings: Settings) -> bool:
    """Gives its room to the database and the logs; whether there was any. Safe to repeat."""
    released = False
    for file in ballast_files(settings):
        with suppress(OSError), outside("disks.ballast_released"):
            file.unlink()
            released = True
    return released


def read_shortage(cluster: Cluster) -> Shortage | None:
    """As the scheduler noted it last; None while all disks have room."""
    with cluster.store.read() as session:
        return load_shortage(session)


def load_shortage(session: Session) -> Shortage | None:
    fact = session.get(Fact, SHORTAGE)
    return parse_shortage(fact.value) if fact is not None else None


def parse_shortage(said: Mapping[str, Any]) -> Shortage:
    volume = Volume(**{**said["volume"], "level": Level(said["volume"]["level"])})
    return Shortage(volume, datetime.fromisoformat(said["since"]), said["fillers"])


def note_shortage(
    cluster: Cluster, held: Held, volume: Volume | None, running: Mapping[int, int] | None = None
) -> None:
    """What pages, reasons to wait and mails say of it. `running`: sizes of running jobs' files. Raises LeaseLost."""
    with cluster.store.write() as session:
        check_lease(session, held)
        known = load_shortage(session)
        if volume is None:
            session.execute(delete(Fact).where(Fact.name == SHORTAGE))
        else:
            since = known.since if known and known.volume.mount == volume.mount else cluster.clock()
            value = {
                "volume": asdict(volume),
                "since": since.isoformat(),
                "fillers": read_fillers(session, running or {}),
            }
            session.merge(Fact(name=SHORTAGE, value=value))
    cluster.bell.ring("queue", 0)
    cluster.bell.ring("nodes", 0)


def read_fillers(session: Session, running: Mapping[int, int]) -> list[list[int]]:
    """The jobs with the largest files, whether they run or have ended."""
    query = (
        select(Job.id, Job.storage_bytes)
        .where(Job.storage_bytes > 0, Job.files_deleted_at.is_(None))
        .order_by(Job.storage_bytes.desc(), Job.id)
        .limit(FILLERS)
    )
    sizes = {job_id: size for job_id, size in session.execute(query)}  # noqa: C416
    for job_id, size in running.items():
        sizes[job_id] = size + (sizes.get(job_id) or 0)
    largest = sorted(sizes.items(), key=lambda pair: (-(pair[1] or 0), pair[0]))[:FILLERS]
    return [[job_id, size] for job_id, size in largest if size]
