"""Every row of a metrics file as CSV; a slot is freed whatever ends the export."""

import json
from pathlib import Path

import pytest

from portal.job_files.metrics import metrics_csv
from portal.job_files.metrics.export_slots import CsvExportSlots
from portal.job_files.metrics.metrics_csv import CsvExport
from portal.job_files.metrics.metrics_rows import MetricsLineReader
from portal.job_files.time_slicing import TimeSlicer

ROWS = (
    {"step": 1, "epoch": 0.5, "time": 10, "scalars": {"loss": 2.0}},
    {"step": 2, "epoch": 1, "time": 11, "scalars": {"loss": 1.5, "accuracy": 0.25}},
)
TEXT = "step,epoch,time,accuracy,loss\r\n1,0.5,10.0,,2.0\r\n2,1.0,11.0,0.25,1.5\r\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS) + "no row\n")
    return path


@pytest.mark.parametrize("names", [None, ["accuracy", "loss"]])
def test_each_row_is_a_line_with_all_names(file: Path, names: list[str] | None) -> None:
    slots = CsvExportSlots()
    export = CsvExport(file.open("rb"), names, TimeSlicer(), slots.take(7))
    assert "".join(export) == TEXT
    assert slots.used_by_person[7] == 0


def test_long_files_come_in_chunks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_csv, "CHUNK_CHARACTERS", 1)
    chunks = list(CsvExport(file.open("rb"), ["accuracy", "loss"], TimeSlicer(), CsvExportSlots().take(7)))
    assert len(chunks) > 1
    assert "".join(chunks) == TEXT


def test_an_export_that_nobody_reads_frees_its_slot_once(file: Path) -> None:
    slots, handle = CsvExportSlots(), file.open("rb")
    export = CsvExport(handle, None, TimeSlicer(), slots.take(7))
    assert slots.used_by_person[7] == 1
    export.close()
    export.close()
    assert (slots.used_by_person[7], handle.closed) == (0, True)


def test_no_more_rows_are_read_than_the_next_chunk_needs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of an export is that of one chunk, however long the file is."""
    rows, read = 20_000, [0]
    file.write_bytes(b"".join(b'{"step": %d, "scalars": {"loss": 0.5}}\n' % step for step in range(rows)))
    next_line = MetricsLineReader.next

    def count(reader: MetricsLineReader) -> bytes | None:
        line = next_line(reader)
        read[0] += line is not None
        return line

    monkeypatch.setattr(MetricsLineReader, "next", count)
    written, ahead = -1, []  # The head is no row.
    for chunk in CsvExport(file.open("rb"), ["loss"], TimeSlicer(), CsvExportSlots().take(7)):
        assert len(chunk) < 2 * metrics_csv.CHUNK_CHARACTERS
        written += chunk.count("\r\n")
        ahead.append(read[0] - written)
    assert (written, read[0]) == (rows, rows)
    assert len(ahead) > 3 and max(ahead) == 0
