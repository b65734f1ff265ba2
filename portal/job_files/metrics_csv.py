"""Streams every row of a job's metrics as CSV without holding the file in memory."""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from portal.job_files.metrics import MAX_METRICS
from portal.job_files.metrics_rows import LARGEST_FILE, MetricsLineReader, MetricsRow, parse_metrics_row
from portal.job_files.time_slicing import TimeSlicer

HEAD = ("step", "epoch", "time")
PIECE_CHARACTERS = 64 * 1024
EXPORT_SLOTS, EXPORT_SLOTS_PER_PERSON = 16, 2
"""Each holds a thread of the portal for as long as its reader takes."""


class CsvExportSlots:
    """How many files are being written, for each person and together."""

    def __init__(self) -> None:
        self.taken: Counter[int] = Counter()
        self.lock = threading.Lock()

    def take(self, user_id: int) -> "CsvExportSlot | None":
        """None where none is free."""
        with self.lock:
            if self.taken[user_id] >= EXPORT_SLOTS_PER_PERSON or self.taken.total() >= EXPORT_SLOTS:
                return None
            self.taken[user_id] += 1
            return CsvExportSlot(self, user_id)


class CsvExportSlot:
    """Given back once, by whatever comes first: the end of the file, or of the request."""

    def __init__(self, places: CsvExportSlots, user_id: int) -> None:
        self.places = places
        self.user_id = user_id
        self.is_taken = True

    def close(self) -> None:
        with self.places.lock:
            if self.is_taken:
                self.is_taken = False
                self.places.taken[self.user_id] -= 1


def stream_metric_csv(
    file: BinaryIO, size: int, names: Sequence[str] | None, pace: TimeSlicer, place: CsvExportSlot
) -> Iterator[str]:
    """Pieces of text, made in turns; closes the file and gives the place back.

    `names` None: the file is read once more, before, to know them.
    """
    with file, contextlib.closing(place):
        end = min(size, LARGEST_FILE)
        if names is None:
            found: dict[str, None] = {}
            names_of_rows = MetricNameCollector(MetricsLineReader(file, 0, end), found)
            for _ in pace.run_steps(names_of_rows.step):
                pass
            names = sorted(found)
        rows = MetricCsvWriter(MetricsLineReader(file, 0, end), names)
        for _ in pace.run_steps(rows.step):
            if rows.length >= PIECE_CHARACTERS:
                yield rows.take()
        yield rows.take()


class MetricNameCollector:
    """The first names that a file has, as many as are shown of one."""

    def __init__(self, lines: MetricsLineReader, found: dict[str, None]) -> None:
        self.lines = lines
        self.found = found

    def step(self) -> bool:
        line = self.lines.next()
        row = parse_metrics_row(line) if line is not None else None
        for name in row.scalars if row else ():
            if len(self.found) < MAX_METRICS:
                self.found.setdefault(name)
        return line is not None and len(self.found) < MAX_METRICS


class MetricCsvWriter:
    """Names are plain (see metrics_rows), so no cell is a formula."""

    def __init__(self, lines: MetricsLineReader, names: Sequence[str]) -> None:
        self.lines = lines
        self.names = names
        self.parts = [",".join([*HEAD, *names]) + "\n"]
        self.length = 0

    def step(self) -> bool:
        line = self.lines.next()
        if line is None:
            return False
        if row := parse_metrics_row(line):
            self.parts.append(metric_csv_row(row, self.names))
            self.length += len(self.parts[-1])
        return True

    def take(self) -> str:
        text = "".join(self.parts)
        self.parts, self.length = [], 0
        return text


def metric_csv_row(row: MetricsRow, names: Sequence[str]) -> str:
    values = [row.epoch, row.time, *(row.scalars.get(name) for name in names)]
    return ",".join([str(row.step), *("" if one is None else repr(one) for one in values)]) + "\n"
