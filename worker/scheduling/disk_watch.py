"""The disk watch ends the jobs that write most before a full disk stops the database, and reports which disk is
short."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from cluster.domain.storage.disk_reserve import (
    DiskLevel,
    DiskWriter,
    MonitoredDisk,
    StopCause,
    choose_writer_to_stop,
    stop_cause_of,
)
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.leases import HeldLease
from cluster.services.storage import ballast, disk_shortage, disk_space
from worker.executors.contract import Executor, ExecutorUnreachable, Handle
from worker.inside import shim_disk, shim_process_tree

log = structlog.get_logger()

MEASURE_SECONDS = 1.0
"""The interval at which the folders of running attempts are measured while a disk is short."""
RECORD_SECONDS = 10.0
"""The interval at which the numbers of a short disk are written."""
MOST_ENTRIES = 20_000
"""The most entries of a folder that are measured. A folder with more is measured in part."""


@dataclass(frozen=True)
class LiveRun:
    """A live attempt as the executor last reported it; `since` is when it was placed, in steady seconds."""

    job_id: int
    out: Path
    handle: Handle
    since: float
    kept: Sequence[Path] = ()
    """The folders that it writes and that outlive it, as the working copy of a notebook does."""


@dataclass(frozen=True)
class AttemptDiskUse:
    """The bytes that one attempt has on disk (`size`) and has written in all. The rates are bytes per second since
    the measurement before.
    """

    at: float
    size: int
    written: int
    rate: float
    written_rate: float


class DiskWatch:
    """Ends the attempts that fill a disk, without needing the database. The rows are written once the database can
    write again.
    """

    def __init__(
        self, cluster: Cluster, executor: Executor, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self.cluster, self.executor, self.steady = cluster, executor, steady
        self.volumes: list[MonitoredDisk] = []
        self.causes: dict[int, StopCause] = {}
        """Attempt id → why it is being ended."""
        self.unwritten: set[int] = set()
        """Attempts whose cause no row has yet."""
        self.measured: dict[int, AttemptDiskUse] = {}
        self.sizes: dict[int, int] = {}
        """Job id → bytes that the running job has written."""
        self.recorded_state: str | None = None
        """The disk that is short according to the rows, and its level; None before the first reading."""
        self.recorded_at = float("-inf")

    @property
    def jobs_volume(self) -> MonitoredDisk | None:
        """The disk to which jobs write."""
        return next((volume for volume in self.volumes if volume.holds_jobs), None)

    def check(self, runs: Mapping[int, LiveRun]) -> None:
        """Called before the database is used. `runs` are the live attempts of the last pass."""
        settings = self.cluster.settings
        self.volumes = disk_space.read_monitored_disks(
            settings, {each.mount: each.level for each in self.volumes}
        )
        self.causes = {
            key: cause for key, cause in self.causes.items() if key in runs or key in self.unwritten
        }
        volume = self.jobs_volume
        if volume is not None and volume.level is not DiskLevel.ROOM:
            self.end_largest_writer(volume, runs)
        else:
            self.measured.clear()
            self.sizes.clear()
        if any(each.level is DiskLevel.FULL for each in self.volumes):
            if ballast.release_ballast(settings):
                log.warning("a disk is full: its ballast is released", volumes=describe_volumes(self.volumes))
        else:
            ballast.ensure_ballast(settings, self.volumes)

    def end_largest_writer(self, volume: MonitoredDisk, runs: Mapping[int, LiveRun]) -> None:
        """Ends one attempt at a time, the next one once it is gone. On a full disk there is no grace time."""
        writers = self.measure_writers(runs)
        under_way = [key for key in self.causes if key in runs]
        if not under_way and (chosen := choose_writer_to_stop(volume, writers)) is not None:
            cause = self.causes[chosen.attempt_id] = stop_cause_of(volume, chosen)
            self.unwritten.add(chosen.attempt_id)
            under_way = [chosen.attempt_id]
            log.warning(
                "an attempt that fills the disk is ended",
                attempt_id=chosen.attempt_id, bytes=chosen.size, rate=round(chosen.rate), code=cause.code,
                volumes=describe_volumes(self.volumes),
            )  # fmt: skip
        if volume.level is DiskLevel.FULL:
            for key in under_way:
                self.kill_writer(key, runs[key].handle)

    def kill_writer(self, attempt_id: int, handle: Handle) -> None:
        try:
            self.executor.kill(handle)
        except ExecutorUnreachable as silence:
            log.warning("it cannot be ended yet", attempt_id=attempt_id, code=silence.code, **silence.data)

    def measure_writers(self, runs: Mapping[int, LiveRun]) -> list[DiskWriter]:
        """Measures the writers by the growth of their folders. If none grows, it counts what their processes send to
        the disk.
        """
        now = self.steady()
        self.measured = {key: found for key, found in self.measured.items() if key in runs}
        for key, run in runs.items():
            former = self.measured.get(key)
            if former is None or now - former.at >= MEASURE_SECONDS:
                self.measured[key] = measure_run(run, former, now)
        self.sizes = {runs[key].job_id: each.size for key, each in self.measured.items()}
        by_folder = [DiskWriter(key, each.size, int(each.rate), 1.0) for key, each in self.measured.items()]
        volume = self.jobs_volume
        if volume is None or volume.level is not DiskLevel.FULL or any(writer.growth for writer in by_folder):
            return by_folder
        return [
            DiskWriter(key, max(each.size, each.written), int(each.written_rate), 1.0)
            for key, each in self.measured.items()
        ]

    def record(self, held: HeldLease) -> None:
        """Records the stop causes and the shortage in rows. Raises LeaseLost."""
        for key in sorted(self.unwritten):
            attempts.record_stop_cause(self.cluster, held, key, self.causes[key])
            self.unwritten.discard(key)
        if self.volumes:
            self.record_shortage(held, disk_space.most_critical_disk(self.volumes))

    def record_shortage(self, held: HeldLease, short: MonitoredDisk | None) -> None:
        """Records a shortage when it begins, changes and ends, and its numbers every few seconds."""
        if self.recorded_state is None:
            # The recorded shortage may be that of an earlier scheduler.
            self.recorded_state = (
                "unknown" if disk_shortage.read_disk_shortage(self.cluster) is not None else ""
            )
        state = f"{short.mount}:{short.level}" if short is not None else ""
        is_due = short is not None and self.steady() - self.recorded_at >= RECORD_SECONDS
        if state == self.recorded_state and not is_due:
            return
        disk_shortage.record_disk_shortage(self.cluster, held, short, self.sizes)
        self.recorded_state, self.recorded_at = state, self.steady()

    def disk_full_cause(self, size: int | None) -> StopCause:
        """The stop cause of an attempt that reports a full disk. `size` is the size of its own files in bytes."""
        if self.jobs_volume is None:
            self.volumes = disk_space.read_monitored_disks(self.cluster.settings)
        volume = self.jobs_volume
        assert volume is not None, "the storage is on a file system"
        return stop_cause_of(volume, DiskWriter(0, size or 0, 0, 1.0))


def measure_run(run: LiveRun, former: AttemptDiskUse | None, now: float) -> AttemptDiskUse:
    """At the first measurement all of `out` counts as grown since the attempt was placed; files that outlive attempts
    may be older.
    """
    new = size_of_folder(run.out)
    size = new + sum(map(size_of_folder, run.kept))
    written = shim_disk.bytes_written_by(run_pids(run.handle))
    passed = max(now - (former.at if former else run.since), 0.001)
    grown, sent = (size - former.size, written - former.written) if former else (new, written)
    return AttemptDiskUse(now, size, written, max(0, grown) / passed, max(0, sent) / passed)


def size_of_folder(folder: Path) -> int:
    return shim_disk.folder_size(str(folder), MOST_ENTRIES) or 0


def run_pids(handle: Handle) -> list[int]:
    """The process ids of a run that is a process of this machine, with all its descendants."""
    pid = handle.get("pid")
    if not isinstance(pid, int):
        return []
    return [pid, *(process.pid for process in shim_process_tree.living_descendants(pid))]


def describe_volumes(volumes: list[MonitoredDisk]) -> dict[str, str]:
    return {volume.mount: f"{volume.free} of {volume.whole} bytes free" for volume in volumes}
