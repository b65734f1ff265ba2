"""Finds text in a log on the server, so that a browser need not hold the whole file."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from cluster.files.beneath import size_of
from portal.job_files.pace import Pace

SEARCHED_BYTES = 64 * 1024 * 1024
LOOKED_AT_BYTES = 4 * 1024 * 1024
ERROR = re.compile(rb"\b(ERROR|FATAL|CRITICAL|Traceback|[A-Z]\w{0,60}(Error|Exception):)|\berror:")
WARNING = re.compile(rb"\bWARN(ING)?\b|\bwarning:|\b[A-Z]\w{0,60}Warning:")
"""What the viewer tints, see static/js/log_text.js."""
ERROR_WORDS = (b"ERROR", b"FATAL", b"CRITICAL", b"Traceback", b"Error:", b"Exception:", b"error:")
WARNING_WORDS = (b"WARN", b"warning:", b"Warning:")
"""One of them is in whatever the expression finds. A block without them is passed over some twenty times as fast."""
SEARCHED_OF_A_LINE = 4 * 1024
"""Bytes from a line's beginning in which a level is looked for: a program puts it there."""
SEARCH_SECONDS = 5.0
"""As long as one request looks, its waiting for turns included."""
LISTED_HITS = 500
COUNTED_HITS = 100_000
LINE_BYTES = 256 * 1024
LOOKED_AT_ONCE = 32 * 1024
"""Bytes in which levels are looked for before others have their turn."""
EXCERPT = 160


@dataclass(frozen=True)
class Hit:
    """A line with the text in it: `line` counts from 1, `offset` is the line's first byte."""

    line: int
    offset: int
    text: str


@dataclass(frozen=True)
class Found:
    """`count` lines have it, the first of them listed; `is_whole` says that all of the file was searched."""

    count: int
    hits: list[Hit]
    searched_bytes: int
    is_whole: bool


@dataclass(frozen=True)
class Problem:
    """The first line that speaks of an error, or of a warning where none does."""

    kind: str
    line: int
    text: str


@dataclass(frozen=True)
class Block:
    """Whole lines, or a part of one that is longer than a block; `line` counts from 1, `offset` is the first byte."""

    line: int
    offset: int
    data: bytes
    begins_line: bool


def first_problem(file: BinaryIO, pace: Pace | None = None) -> Problem | None:
    """In the first 4 MiB, and of each line in its first 4 KiB."""
    warning: Problem | None = None
    for block in in_turns(blocks(file, LOOKED_AT_ONCE), pace):
        if error := problem_in(block, "error", ERROR, ERROR_WORDS):
            return error
        warning = warning or problem_in(block, "warning", WARNING, WARNING_WORDS)
        if block.offset > LOOKED_AT_BYTES:
            break
    return warning


def problem_in(block: Block, kind: str, sign: re.Pattern[bytes], words: Sequence[bytes]) -> Problem | None:
    """A line at a time: an expression gives no other thread its turn before it has come to its end."""
    has_beginning = block.begins_line or b"\n" in block.data
    if not has_beginning or not any(word in block.data for word in words):
        return None
    for number, (begin, end) in enumerate(lines_of(block.data), start=block.line):
        is_beginning = begin > 0 or block.begins_line
        if is_beginning and sign.search(block.data, begin, min(end, begin + SEARCHED_OF_A_LINE)):
            return Problem(kind, number, excerpt(block.data, begin, begin))
    return None


def lines_of(data: bytes) -> Iterator[tuple[int, int]]:
    """(begin, end) of each, the end without its line end."""
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        yield begin, end
        begin = end + 1
    if begin < len(data):
        yield begin, len(data)


def find(file: BinaryIO, wanted: str, pace: Pace | None = None) -> Found:
    """Lines of the first 64 MiB that contain `wanted`, at most 100,000; capital and small ASCII letters are alike."""
    needle = wanted.encode().lower()
    count, searched = 0, 0
    hits: list[Hit] = []
    for block in in_turns(blocks(file), pace):
        for begin, place in places_of(block.data.lower(), needle):
            count += 1
            if len(hits) < LISTED_HITS:
                line = block.line + block.data.count(b"\n", 0, begin)
                hits.append(Hit(line, block.offset + begin, excerpt(block.data, begin, place)))
            if count >= COUNTED_HITS:
                return Found(count, hits, block.offset + place, is_whole=False)
        searched = block.offset + len(block.data)
        if searched >= SEARCHED_BYTES:
            break
    return Found(count, hits, searched, is_whole=searched >= size_of(file))


def in_turns(found: Iterator[Block], pace: Pace | None) -> Iterator[Block]:
    """So that a large log delays nobody else's page; all of them at once where nobody else is there."""
    return found if pace is None else pace.each(found, time.monotonic() + SEARCH_SECONDS)


def places_of(text: bytes, needle: bytes) -> Iterator[tuple[int, int]]:
    """(the line's begin, the needle's) of each line that has it."""
    place = text.find(needle)
    while place >= 0:
        yield text.rfind(b"\n", 0, place) + 1, place
        end = text.find(b"\n", place)
        place = text.find(needle, end + 1) if end >= 0 else -1


def blocks(file: BinaryIO, most: int = LINE_BYTES) -> Iterator[Block]:
    """Of about `most` bytes; they end at the end of a line where one ends in them."""
    file.seek(0)
    line, offset, begins_line, rest = 1, 0, True, b""
    while part := file.read(most):
        data = rest + part
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) >= most else 0)
        data, rest = data[:end], data[end:]
        if data:
            yield Block(line, offset, data, begins_line)
            line += data.count(b"\n")
            offset += len(data)
            begins_line = data.endswith(b"\n")
    if rest:
        yield Block(line, offset, rest, begins_line)


def count_lines(file: BinaryIO, end: int) -> int | None:
    """Line ends before byte `end`; None beyond what is quick to count (64 MiB)."""
    if end > SEARCHED_BYTES:
        return None
    file.seek(0)
    count = 0
    while end > 0 and (part := file.read(min(LINE_BYTES, end))):
        count += part.count(b"\n")
        end -= len(part)
    return count


def excerpt(text: bytes, begin: int, place: int) -> str:
    """The line that begins at `begin`, around the hit at `place`; at most 160 characters."""
    begin = max(begin, place - EXCERPT // 2)
    end = text.find(b"\n", begin, begin + 4 * EXCERPT)
    return text[begin : end if end >= 0 else begin + 4 * EXCERPT].decode("utf-8", "replace").strip()[:EXCERPT]
