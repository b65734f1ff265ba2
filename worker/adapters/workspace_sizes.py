"""Measures what each workspace stores, beside the scheduler's loop: a folder may have millions of files."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import structlog

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.storage import workspace_storage

log = structlog.get_logger()
MEASURE_SECONDS = 300.0
"""The time between the beginnings of two measurements. If one takes as long as this, a number is at most 600 s old."""
BLOCK = 512
"""Bytes of a block in `st_blocks`, on every file system."""


@dataclass
class Measurement:
    """One walk over all workspaces. `sizes` are bytes by workspace."""

    measured_at: datetime
    sizes: dict[int, int] = field(default_factory=dict)
    is_done: bool = False


class WorkspaceSizes:
    """Makes one measurement at a time, in a daemon thread, for which the end of the scheduler does not wait."""

    def __init__(self, cluster: Cluster, steady: Callable[[], float] = time.monotonic) -> None:
        self.cluster, self.steady = cluster, steady
        self.current: Measurement | None = None
        self.began = float("-inf")

    def advance(self, held: HeldLease) -> None:
        """Records a finished measurement and begins the next one. Raises LeaseLost."""
        if self.current is not None:
            if not self.current.is_done:
                return
            finished, self.current = self.current, None
            workspace_storage.record_stored_bytes(self.cluster, held, finished.sizes, finished.measured_at)
        if self.steady() - self.began >= MEASURE_SECONDS:
            self.began = self.steady()
            self.current = Measurement(self.cluster.clock())
            numbers = workspace_storage.list_workspace_ids(self.cluster)
            threading.Thread(
                target=measure_workspaces, args=(self.current, self.cluster.settings.storage_dir, numbers),
                name="sizes", daemon=True,
            ).start()  # fmt: skip


def measure_workspaces(measurement: Measurement, storage: Path, numbers: list[int]) -> None:
    """A workspace that cannot be read keeps its number, and does not delay the others."""
    try:
        for number in numbers:
            try:
                measurement.sizes[number] = measure_folder(storage / "workspaces" / str(number))
            except OSError as error:
                log.warning("a workspace is not measured; trying again", workspace=number, error=str(error))
    finally:
        measurement.is_done = True


def measure_folder(folder: Path) -> int:
    """Returns the bytes that the folder takes on its disk, 0 if it does not exist. Follows no link, and counts a file
    with several names once.

    Files that disappear meanwhile or that this user may not read do not count.
    """
    counted: set[tuple[int, int]] = set()
    total = 0
    if not folder.exists():
        return 0
    for _, folders, files, opened in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            try:
                status = os.stat(name, dir_fd=opened, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if status.st_nlink > 1 and name in files:
                if (status.st_dev, status.st_ino) in counted:
                    continue
                counted.add((status.st_dev, status.st_ino))
            total += status.st_blocks * BLOCK
    return total
