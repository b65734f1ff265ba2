"""Decide how much of a disk is kept free, what happens below that, and which job is stopped first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

GIB = 1024**3
MAX_BALLAST = 64 * 1024**2
SECONDS_OF_ROOM_LEFT = 60.0
"""Seconds. A job that writes is stopped if the free space would last no longer than this."""
MIN_RATE_TO_STOP = 64 * 1024
"""Bytes per second. A job that writes less, for example a log, is never stopped for lack of space."""
INTERRUPTED_DISK_FULL = "interrupted.disk_full"
EXIT_DISK_FILLED = "exit.disk_filled"


class DiskLevel(StrEnum):
    """The levels to which the free space of a disk may have fallen."""

    ROOM = "room"
    SHORT = "short"
    """The free space is below the reserve. No job starts and no large upload is accepted."""
    LOW = "low"
    """The free space is below half of the reserve. Jobs that write much are stopped."""
    FULL = "full"
    """The free space is below an eighth. Such jobs are stopped at once, and the ballast is deleted for the database."""


@dataclass(frozen=True)
class MonitoredDisk:
    """A file system that this installation needs. Sizes are bytes that a user without rights may use."""

    mount: str
    free: int
    whole: int
    reserve: int
    level: DiskLevel = DiskLevel.ROOM
    holds_jobs: bool = True
    """Whether jobs write to it."""


@dataclass(frozen=True)
class DiskWriter:
    """A running attempt: the size of its folder, and how much it grew in how many seconds."""

    attempt_id: int
    size: int
    growth: int
    seconds: float

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.growth / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class StopCause:
    """The reason why an attempt is ended although nobody asked for it. It is a code with words and data."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


def reserve_of(whole: int, wanted: int | None = None) -> int:
    """Bytes: 1 GiB or 1 % of the disk, whichever is more, but never more than a tenth of it."""
    if wanted is not None:
        return wanted
    return min(max(GIB, whole // 100), whole // 10)


def ballast_of(reserve: int) -> int:
    """Bytes of the file that is deleted when the disk is full, so that the database can write again."""
    return min(reserve // 8, MAX_BALLAST)


def disk_level_of(free: int, reserve: int, before: DiskLevel = DiskLevel.ROOM) -> DiskLevel:
    """The level. A disk that was short counts as short until a quarter more than the reserve is free."""
    if free < reserve // 8:
        return DiskLevel.FULL
    if free < reserve // 2:
        return DiskLevel.LOW
    if free < reserve or (before is not DiskLevel.ROOM and free < reserve + reserve // 4):
        return DiskLevel.SHORT
    return DiskLevel.ROOM


def can_keep_ballast(volume: MonitoredDisk) -> bool:
    """Whether the disk has room for the ballast without coming near its reserve."""
    return volume.free - ballast_of(volume.reserve) >= volume.reserve + volume.reserve // 4


def choose_writer_to_stop(volume: MonitoredDisk, writers: Sequence[DiskWriter]) -> DiskWriter | None:
    """The attempt to stop now: the one that writes fastest, if the free space lasts for less than a minute.

    The files of a stopped job stay, so the disk stays low. Other jobs go on while they write slowly.
    """
    if volume.level not in (DiskLevel.LOW, DiskLevel.FULL):
        return None
    fast = [writer for writer in writers if writer.rate >= MIN_RATE_TO_STOP]
    lasting = max(0, volume.free - volume.reserve // 8)
    if not fast or lasting > SECONDS_OF_ROOM_LEFT * sum(writer.rate for writer in fast):
        return None
    return max(fast, key=lambda writer: (writer.rate, writer.size, -writer.attempt_id))


def stop_cause_of(volume: MonitoredDisk, writer: DiskWriter) -> StopCause:
    """A job that has written as much as the reserve has filled the disk and fails. Any other job waits for space.

    If nothing is reserved, a tenth of the disk counts instead.
    """
    if writer.size >= (volume.reserve or volume.whole // 10):
        return StopCause(EXIT_DISK_FILLED, {"mount": volume.mount, "bytes": writer.size})
    return StopCause(INTERRUPTED_DISK_FULL, {"mount": volume.mount})
