"""Finds text in a log on the server, so that a browser need not load the whole file."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from cluster.domain.jobs.failures.log_text import TRACEBACK, TracebackReader, without_rank
from cluster.files.safe_read import open_file_size
from portal.job_files.time_slicing import TimeSlicer

SEARCHED_BYTES = 64 * 1024 * 1024
PROBLEM_SEARCH_BYTES = 4 * 1024 * 1024
ERROR = re.compile(rb"\b(ERROR|FATAL|CRITICAL|Traceback|[A-Z]\w{0,60}(Error|Exception):)|\berror:")
WARNING = re.compile(rb"\bWARN(ING)?\b|\bwarning:|\b[A-Z]\w{0,60}Warning:")
"""The lines that the viewer colours, see static/js/log_lines.js."""
ERROR_WORDS = (b"ERROR", b"FATAL", b"CRITICAL", b"Traceback", b"Error:", b"Exception:", b"error:")
WARNING_WORDS = (b"WARN", b"warning:", b"Warning:")
"""Every match of the expression contains one of these words. Blocks without them are skipped twenty times as fast."""
SEARCHED_OF_A_LINE = 4 * 1024
"""The bytes of a line in which a level is searched, because programs put it at the beginning."""
SEARCH_SECONDS = 5.0
"""Seconds that one request searches, including its waiting for turns."""
LISTED_HITS = 500
COUNTED_HITS = 100_000
LINE_BYTES = 256 * 1024
BYTES_PER_TURN = 32 * 1024
"""The bytes that are searched for levels before other threads get a turn."""
EXCERPT = 160
LONGEST_TRACEBACK = 5_000
"""The most lines of a traceback. Python itself ends a recursion after 1,000 calls, which are two or three lines each.
"""


@dataclass(frozen=True)
class LogMatch:
    """A line that contains the text. `line` counts from 1, `offset` is the line's first byte."""

    line: int
    offset: int
    text: str


@dataclass(frozen=True)
class LogSearchResult:
    """`count` lines contain the text, and the first ones are listed. `covers_whole_file`: the search has reached the
    end.
    """

    count: int
    matches: list[LogMatch]
    searched_bytes: int
    covers_whole_file: bool


@dataclass(frozen=True)
class FirstLogProblem:
    """The first line with an error, or with a warning if there is no error."""

    kind: str
    line: int
    text: str
    offset: int = 0
    """The first byte of the line."""


@dataclass(frozen=True)
class LineBlock:
    """Whole lines, or a part of a line that is longer than a block. `line` counts from 1,
    `offset` is the first byte.
    """

    line: int
    offset: int
    data: bytes
    begins_line: bool


def find_first_problem(
    file: BinaryIO, time_slicer: TimeSlicer | None = None, until: float | None = None
) -> FirstLogProblem | None:
    """Searches the first 4 MiB, and of each line the first 4 KiB. Of a traceback the line with the exception counts.

    `until`: as in `in_time_slices`.
    """
    warning: FirstLogProblem | None = None
    traceback: OpenTraceback | None = None
    for block in in_time_slices(read_line_blocks(file, BYTES_PER_TURN), time_slicer, until):
        if traceback is None:
            error = problem_in_block(block, "error", ERROR, ERROR_WORDS)
            if error is not None and not without_rank(error.text).startswith(TRACEBACK):
                return error
            traceback = OpenTraceback(error) if error else None
        if traceback is not None and not traceback.read_block(block):
            break
        warning = warning or problem_in_block(block, "warning", WARNING, WARNING_WORDS)
        if block.offset > PROBLEM_SEARCH_BYTES:
            break
    return traceback.problem if traceback else warning


class OpenTraceback:
    """A traceback that is the first error of a log, followed until its exception's line."""

    def __init__(self, head: FirstLogProblem) -> None:
        self.problem = head
        """The exception's line, once it was read; before, the traceback's first line."""
        self.head_line = head.line
        self.reader = TracebackReader()

    def read_block(self, block: LineBlock) -> bool:
        """Returns whether the traceback may continue in the next block. It is followed for at most 5,000 lines."""
        for number, (begin, end) in enumerate(line_ranges(block.data), start=block.line):
            if number <= self.head_line or not (begin > 0 or block.begins_line):
                continue
            text = block.data[begin : min(end, begin + SEARCHED_OF_A_LINE)].decode("utf-8", "replace")
            self.reader.read_line(number, text)
            if self.reader.exception == number:
                text = excerpt(block.data, begin, begin)
                self.problem = FirstLogProblem("error", number, text, block.offset + begin)
            if not self.reader.goes_on or number - self.head_line > LONGEST_TRACEBACK:
                return False
        return True


def problem_in_block(
    block: LineBlock, kind: str, sign: re.Pattern[bytes], words: Sequence[bytes]
) -> FirstLogProblem | None:
    """Searches line by line, because an expression blocks all other threads until it has ended."""
    has_beginning = block.begins_line or b"\n" in block.data
    if not has_beginning or not any(word in block.data for word in words):
        return None
    for number, (begin, end) in enumerate(line_ranges(block.data), start=block.line):
        is_beginning = begin > 0 or block.begins_line
        if is_beginning and sign.search(block.data, begin, min(end, begin + SEARCHED_OF_A_LINE)):
            return FirstLogProblem(kind, number, excerpt(block.data, begin, begin), block.offset + begin)
    return None


def line_ranges(data: bytes) -> Iterator[tuple[int, int]]:
    """The begin and the end of each line, without its line end."""
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        yield begin, end
        begin = end + 1
    if begin < len(data):
        yield begin, len(data)


def search_log(
    file: BinaryIO, text: str, time_slicer: TimeSlicer | None = None, until: float | None = None
) -> LogSearchResult:
    """Lines of the first 64 MiB that contain `text`, at most 100,000. The case of ASCII letters does not matter."""
    needle = text.encode().lower()
    count, searched = 0, 0
    hits: list[LogMatch] = []
    for block in in_time_slices(read_line_blocks(file), time_slicer, until):
        for begin, place in matching_lines(block.data.lower(), needle):
            count += 1
            if len(hits) < LISTED_HITS:
                line = block.line + block.data.count(b"\n", 0, begin)
                hits.append(LogMatch(line, block.offset + begin, excerpt(block.data, begin, place)))
            if count >= COUNTED_HITS:
                return LogSearchResult(count, hits, block.offset + place, covers_whole_file=False)
        searched = block.offset + len(block.data)
        if searched >= SEARCHED_BYTES:
            break
    return LogSearchResult(count, hits, searched, covers_whole_file=searched >= open_file_size(file))


def in_time_slices(
    blocks: Iterator[LineBlock], time_slicer: TimeSlicer | None, until: float | None = None
) -> Iterator[LineBlock]:
    """Search in time slices, so that a large log does not delay other requests.

    `until` is the end of the search of several logs, by time.monotonic(); None: this log may take all the time of a
    search.
    """
    if time_slicer is None:
        return blocks
    return time_slicer.slice_items(blocks, time.monotonic() + SEARCH_SECONDS if until is None else until)


def matching_lines(text: bytes, needle: bytes) -> Iterator[tuple[int, int]]:
    """The begin of each line that contains the needle, and the needle's begin."""
    place = text.find(needle)
    while place >= 0:
        yield text.rfind(b"\n", 0, place) + 1, place
        end = text.find(b"\n", place)
        place = text.find(needle, end + 1) if end >= 0 else -1


def read_line_blocks(file: BinaryIO, most: int = LINE_BYTES) -> Iterator[LineBlock]:
    """Blocks of about `most` bytes. They end at the end of a line if they contain one."""
    file.seek(0)
    line, offset, begins_line, rest = 1, 0, True, b""
    while part := file.read(most):
        data = rest + part
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) >= most else 0)
        data, rest = data[:end], data[end:]
        if data:
            yield LineBlock(line, offset, data, begins_line)
            line += data.count(b"\n")
            offset += len(data)
            begins_line = data.endswith(b"\n")
    if rest:
        yield LineBlock(line, offset, rest, begins_line)


def excerpt(text: bytes, begin: int, place: int) -> str:
    """The line that begins at `begin`, around the match at `place`, at most 160 characters."""
    begin = max(begin, place - EXCERPT // 2)
    end = text.find(b"\n", begin, begin + 4 * EXCERPT)
    return text[begin : end if end >= 0 else begin + 4 * EXCERPT].decode("utf-8", "replace").strip()[:EXCERPT]
