"""Finds text in a log on the server, so that a browser need not hold the whole file."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from cluster.files.beneath import size_of

SEARCHED_BYTES = 64 * 1024 * 1024
LOOKED_AT_BYTES = 4 * 1024 * 1024
ERROR = re.compile(rb"\b(ERROR|FATAL|CRITICAL|Traceback|[A-Z]\w*(Error|Exception):)|\berror:")
WARNING = re.compile(rb"\bWARN(ING)?\b|\bwarning:|[A-Z]\w*Warning:")
"""What the viewer tints, see static/js/log.js."""
LISTED_HITS = 500
LINE_BYTES = 256 * 1024
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
    is_whole: bool


@dataclass(frozen=True)
class Problem:
    """The first line that speaks of an error, or of a warning where none does."""

    kind: str
    line: int
    text: str


def first_problem(file: BinaryIO) -> Problem | None:
    """In the first 4 MiB."""
    warning: Problem | None = None
    for line, offset, text in numbered_lines(file):
        if ERROR.search(text):
            return Problem("error", line, excerpt(text, 0))
        if warning is None and WARNING.search(text):
            warning = Problem("warning", line, excerpt(text, 0))
        if offset > LOOKED_AT_BYTES:
            break
    return warning


def find(file: BinaryIO, wanted: str) -> Found:
    """Lines of the first 64 MiB that contain `wanted`; capital and small ASCII letters are alike."""
    needle = wanted.encode().lower()
    count, searched = 0, 0
    hits: list[Hit] = []
    for line, offset, text in numbered_lines(file):
        if (place := text.lower().find(needle)) >= 0:
            count += 1
            if len(hits) < LISTED_HITS:
                hits.append(Hit(line, offset, excerpt(text, place)))
        searched = offset + len(text)
        if searched >= SEARCHED_BYTES:
            break
    return Found(count, hits, is_whole=searched >= size_of(file))


def numbered_lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """(number, offset, bytes) of each line; one longer than 256 KiB comes in several parts of one number."""
    file.seek(0)
    number, offset = 1, 0
    reader = io.BufferedReader(file, LINE_BYTES)  # type: ignore[type-var]
    try:
        while text := reader.readline(LINE_BYTES):
            yield number, offset, text
            offset += len(text)
            number += text.endswith(b"\n")
    finally:
        reader.detach()


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


def excerpt(text: bytes, place: int) -> str:
    """The line around the hit, at most 160 characters."""
    begin = max(0, place - EXCERPT // 2)
    return text[begin : begin + 4 * EXCERPT].decode("utf-8", "replace").strip()[:EXCERPT]
