"""Caches the metrics of recently shown jobs, so that a poll reads only the new part of a file."""

import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from flask import Flask

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from portal.job_files.folders import METRICS_FILE
from portal.job_files.metrics.job_metrics import JobMetrics
from portal.job_files.time_slicing import TimeSlicer
from portal.shared_objects import share_object, shared_object

MAX_CACHED_POINTS = 200_000
"""The limit for all files in a process, at some 80 bytes a point. The least recently used files are dropped first."""
MAX_CACHED_FILES = 500
READ_SECONDS = 1.0
"""Seconds that one request reads. The next request continues."""
AT_ONCE_BYTES = 256 * 1024
"""New bytes that are read without time slices, which takes some hundredths of a second."""

FileIdentity = tuple[int, int]


def init_app(app: Flask) -> None:
    share_object(app, MetricsCache, MetricsCache())


def current_metrics_cache() -> "MetricsCache":
    """Returns the cache of the portal that answers the current request."""
    return shared_object(MetricsCache)


@dataclass
class CachedMetrics:
    """Readers get `shown`, which never changes. The holder of the lock reads further rows into `metrics`."""

    identity: FileIdentity | None = None
    metrics: JobMetrics = field(default_factory=JobMetrics)
    shown: JobMetrics = field(default_factory=JobMetrics)
    lock: threading.Lock = field(default_factory=threading.Lock)


class MetricsCache:
    """The cache of a process. Reading one file does not delay requests for others."""

    def __init__(self) -> None:
        self.files: OrderedDict[tuple[str, ...], CachedMetrics] = OrderedDict()
        self.lock = threading.Lock()
        self.time_slicer = TimeSlicer()

    def read(self, root: Path, *out: str) -> JobMetrics:
        """The metrics, empty if there is no such regular file (yet). The caller must not change them.

        For a large file that was not read before it is only the beginning, and `is_whole` is False.
        """
        try:
            with open_file_beneath(root, *out, METRICS_FILE) as file:
                return self.read_further(self.cached_file(root, *out), file)
        except (FileMissing, FileNotPlain):
            return JobMetrics()

    def cached_file(self, root: Path, *out: str) -> CachedMetrics:
        """The cached file, now the most recently used one. Others are dropped if all have too
        many points together.
        """
        place = (str(root), *out)
        with self.lock:
            cached = self.files.setdefault(place, CachedMetrics())
            self.files.move_to_end(place)
            total = sum(each.shown.point_count for each in self.files.values())
            while len(self.files) > 1 and (total > MAX_CACHED_POINTS or len(self.files) > MAX_CACHED_FILES):
                _, forgotten = self.files.popitem(last=False)
                total -= forgotten.shown.point_count
            return cached

    def read_further(self, cached: CachedMetrics, file: BinaryIO) -> JobMetrics:
        """While another request reads the same file, return what that request has read so far."""
        until = time.monotonic() + READ_SECONDS
        if not cached.lock.acquire(timeout=READ_SECONDS):
            return cached.shown
        try:
            status = os.fstat(file.fileno())
            identity, size = (status.st_dev, status.st_ino), status.st_size
            if cached.identity != identity or cached.metrics.read_bytes > size:
                cached.identity, cached.metrics, cached.shown = identity, JobMetrics(), JobMetrics()
            metrics = cached.metrics
            if size != metrics.size or not metrics.is_whole:
                self.read_new_lines(metrics, file, size, until)
                cached.shown = metrics.copy()
            return cached.shown
        finally:
            cached.lock.release()

    def read_new_lines(self, metrics: JobMetrics, file: BinaryIO, size: int, until: float) -> None:
        """Reads a few lines at once, and many in time slices."""
        lines = metrics.new_lines(file, size)
        if lines.end - lines.place <= AT_ONCE_BYTES:
            while metrics.read_line(lines):
                pass
            return
        for _ in self.time_slicer.run_steps(lambda: metrics.read_line(lines), until):
            pass
