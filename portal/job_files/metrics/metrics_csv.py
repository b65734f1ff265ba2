"""Streams every row of a job's metrics as CSV without holding the file in memory."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    duplicate_file,
    open_file_beneath,
    open_file_size,
)
from portal.csv_text import CsvCell, csv_line
from portal.job_files.attempt_files import AttemptFiles
from portal.job_files.folders import METRICS_FILE
from portal.job_files.metrics.export_slots import CsvExportSlot, CsvExportSlots
from portal.job_files.metrics.job_metrics import MAX_METRICS
from portal.job_files.metrics.metrics_cache import current_metrics_cache
from portal.job_files.metrics.metrics_rows import (
    LARGEST_FILE,
    MetricsLineReader,
    MetricsRow,
    parse_metrics_row,
)
from portal.job_files.time_slicing import TimeSlicer
from portal.shared_objects import shared_object

HEAD = ("step", "epoch", "time")
CHUNK_CHARACTERS = 64 * 1024


class CsvExport:
    """CSV text of a metrics file in chunks of about 64 Ki characters, made in time slices.

    `names` None: the file is read twice, first to collect the names of its metrics. Closing the export closes the file
    and frees the slot, also if nobody has begun to read.
    """

    def __init__(
        self, file: BinaryIO, names: Sequence[str] | None, time_slicer: TimeSlicer, slot: CsvExportSlot
    ) -> None:
        self.file = file
        self.names = names
        self.time_slicer = time_slicer
        self.slot = slot
        self.end = min(open_file_size(file), LARGEST_FILE)

    def __iter__(self) -> Iterator[str]:
        with contextlib.closing(self):
            names = self.collect_names() if self.names is None else self.names
            writer = MetricCsvWriter(MetricsLineReader(self.file, 0, self.end), names)
            for _ in self.time_slicer.run_steps(writer.step):
                if writer.length >= CHUNK_CHARACTERS:
                    yield writer.take()
            yield writer.take()

    def collect_names(self) -> list[str]:
        collector = MetricNameCollector(MetricsLineReader(self.file, 0, self.end))
        for _ in self.time_slicer.run_steps(collector.step):
            pass
        return sorted(collector.names)

    def close(self) -> None:
        self.file.close()
        self.slot.close()


def open_csv_export(files: AttemptFiles, user_id: int) -> Iterable[str]:
    """Every row of the attempt's metrics, or only the head if there is no file. Raises Unavailable if no slot is
    free.
    """
    metrics = files.metrics
    names = sorted(metrics.series) if metrics.is_whole else None
    try:
        with open_file_beneath(files.root, *files.out, METRICS_FILE) as file:
            export_file = duplicate_file(file)
        try:
            # The slot is taken last, so that an earlier failure does not occupy it.
            slot = shared_object(CsvExportSlots).take(user_id)
        except BaseException:
            export_file.close()
            raise
        return CsvExport(export_file, names, current_metrics_cache().time_slicer, slot)
    except (FileMissing, FileNotPlain):
        return [csv_line(HEAD)]


class MetricNameCollector:
    """The first MAX_METRICS metric names of a file."""

    def __init__(self, lines: MetricsLineReader) -> None:
        self.lines = lines
        self.names: set[str] = set()

    def step(self) -> bool:
        line = self.lines.next()
        row = parse_metrics_row(line) if line is not None else None
        for name in row.scalars if row else ():
            if len(self.names) < MAX_METRICS:
                self.names.add(name)
        return line is not None and len(self.names) < MAX_METRICS


class MetricCsvWriter:
    """Collects rows as CSV text until they are taken."""

    def __init__(self, lines: MetricsLineReader, names: Sequence[str]) -> None:
        self.lines = lines
        self.names = names
        self.parts = [csv_line([*HEAD, *names])]
        self.length = 0

    def step(self) -> bool:
        line = self.lines.next()
        if line is None:
            return False
        if row := parse_metrics_row(line):
            self.parts.append(csv_line(metric_cells(row, self.names)))
            self.length += len(self.parts[-1])
        return True

    def take(self) -> str:
        text = "".join(self.parts)
        self.parts, self.length = [], 0
        return text


def metric_cells(row: MetricsRow, names: Sequence[str]) -> list[CsvCell]:
    return [row.step, row.epoch, row.time, *(row.scalars.get(name) for name in names)]
