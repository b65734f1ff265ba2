"""Keeps the metrics that were asked for lately, so that a poll reads only what is new in the file."""

import copy
import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import BinaryIO

from cluster.files.beneath import FileMissing, FileNotPlain, open_file
from portal.job_files.metrics import Metrics

FILE = "metrics.jsonl"
KEPT_BYTES = 64 * 1024 * 1024

Identity = tuple[int, int]


class MetricsReader:
    """One per process; `KEPT_BYTES` is how much of files it keeps in memory, the least recent go first."""

    def __init__(self) -> None:
        self.known: OrderedDict[tuple[str, ...], tuple[Identity, Metrics]] = OrderedDict()
        self.lock = threading.Lock()

    def read(self, root: Path, *out: str) -> Metrics:
        """Empty where there is no such file (yet) or it is not a plain one."""
        try:
            with open_file(root, *out, FILE) as file, self.lock:
                status = os.fstat(file.fileno())
                return self.take(out, file, (status.st_dev, status.st_ino), status.st_size)
        except (FileMissing, FileNotPlain):
            return Metrics()

    def take(self, out: tuple[str, ...], file: BinaryIO, identity: Identity, size: int) -> Metrics:
        """A copy of what is known and what was added; all anew where it is another or a shorter file."""
        before, metrics = self.known.pop(out, (identity, Metrics()))
        if before != identity or metrics.read_bytes > size:
            metrics = Metrics()
        metrics.read_on(file, size)
        self.known[out] = identity, metrics
        while len(self.known) > 1 and sum(one.read_bytes for _, one in self.known.values()) > KEPT_BYTES:
            self.known.popitem(last=False)
        return copy.deepcopy(metrics)
