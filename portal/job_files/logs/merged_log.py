"""Merges the ends of several log files by the times at which their lines were written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.jobs.failures.log_text import plain_line
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from portal.job_files.logs.log_chunks import LogFile, read_fully, read_log_chunk
from portal.job_files.logs.log_times import AttemptLogTimes, FileTimes

WINDOW_BYTES = 128 * 1024
"""The bytes of all files together that one page shows."""
SMALLEST_WINDOW = 8 * 1024
MOST_FILES = 16


@dataclass(frozen=True)
class MergedLine:
    """`time` is in Unix seconds, None if it is not known."""

    log: LogFile
    time: float | None
    text: str


@dataclass(frozen=True)
class LogWindow:
    """Lines of one file. `complete_from` is the time from which the window has all lines of the file, None if it has
    them all.
    """

    lines: Sequence[MergedLine]
    complete_from: float | None = None


@dataclass(frozen=True)
class MergedLog:
    """Lines in the order of their times. `earlier` is the time before which more lines were written, None if there are
    none.
    """

    lines: Sequence[MergedLine]
    earlier: float | None = None
    left_out_files: int = 0


def read_merged_log(
    root: Path,
    out: Sequence[str],
    logs: Sequence[LogFile],
    times: AttemptLogTimes,
    before: float | None = None,
) -> MergedLog:
    """The last lines of the files, or the last ones that were written before a time."""
    chosen = [log for log in logs if log.is_plain and log.size][:MOST_FILES]
    limit = max(SMALLEST_WINDOW, WINDOW_BYTES // max(1, len(chosen)))
    windows = [read_window(root, out, log, times.of_file(log.name), limit, before) for log in chosen]
    left_out = sum(1 for log in logs if log.is_plain and log.size) - len(chosen)
    return merge_windows(windows, left_out)


def read_window(
    root: Path, out: Sequence[str], log: LogFile, times: FileTimes, limit: int, before: float | None
) -> LogWindow:
    """Reads at most `limit` bytes."""
    try:
        with open_file_beneath(root, *out, log.name) as file:
            if before is None:
                chunk = read_log_chunk(file, -limit, limit)
                start, data = chunk.start, chunk.data
            else:
                end = times.size_before(before)
                start = max(0, end - limit)
                file.seek(start)
                data = read_fully(file, end - start)
                if start:
                    skipped = data.find(b"\n") + 1
                    start, data = start + skipped, data[skipped:]
    except (FileMissing, FileNotPlain):
        return LogWindow([])
    return window_of(log, start, data, times)


def window_of(log: LogFile, start: int, data: bytes, times: FileTimes) -> LogWindow:
    lines = list(timed_lines(log, start, data, times))
    if start == 0 or not lines:
        return LogWindow(lines)
    known = [line.time for line in lines if line.time is not None]
    # More lines of the first moment may lie before the window. If all lines are of one moment, it is shown in part.
    later = (time for time in known if time > known[0])
    return LogWindow(lines, next(later, known[0]) if known else None)


def timed_lines(log: LogFile, start: int, data: bytes, times: FileTimes) -> Iterator[MergedLine]:
    offset = start
    for line in data.split(b"\n"):
        if line or offset < start + len(data):
            text = plain_line(line.decode("utf-8", "replace"))
            yield MergedLine(log, times.time_of(offset), text)
        offset += len(line) + 1


def merge_windows(windows: Sequence[LogWindow], left_out_files: int = 0) -> MergedLog:
    """Lines of one moment stay together by file, in the order of the windows. Lines before the moment from which all
    windows are complete are left out: `earlier` leads to them. Lines without a time come last.
    """
    complete_from = [window.complete_from for window in windows if window.complete_from is not None]
    begin = max(complete_from, default=None)
    merged = sorted(
        (line for window in windows for line in window.lines),
        key=lambda line: (line.time is None, line.time or 0.0),
    )
    if begin is not None:
        merged = [line for line in merged if line.time is None or line.time >= begin]
    return MergedLog(merged, begin, left_out_files)
