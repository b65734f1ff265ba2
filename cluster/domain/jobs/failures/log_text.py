"""Reads log lines that strangers wrote: a line as a terminal shows it, and the line of a traceback that says why."""

import re
from collections.abc import Sequence

LONGEST_LINE = 2_000
"""The characters of a line that are read. Programs put what matters at the beginning."""
TRACEBACK = "Traceback (most recent call last):"
CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
"""The lines that Python writes between two tracebacks of one failure."""
RANK_PREFIX = re.compile(r"\[rank\d{1,5}\]:\s?")
"""The text that PyTorch writes before each line of a traceback."""
ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
EXCEPTION = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)(?::|$)")
"""`ValueError: …` or `torch.cuda.OutOfMemoryError: …` at the beginning of a line. Each repetition has a bound."""
ERROR_WORDS = ("ERROR", "FATAL", "CRITICAL", "error:", "Error:", "Exception:", "groundcrew: ")
"""`groundcrew: ` begins the line in which the shim says that a program could not be executed."""


def plain_line(line: str) -> str:
    """The line as a terminal shows it: what follows the last carriage return, without colours, at most 2,000
    characters.
    """
    begin = line.rstrip("\r").rfind("\r") + 1
    return ESCAPES.sub("", line[begin : begin + LONGEST_LINE]).rstrip()


def without_rank(line: str) -> str:
    prefix = RANK_PREFIX.match(line)
    return line[prefix.end() :] if prefix else line


def is_exception_line(line: str) -> bool:
    return EXCEPTION.match(without_rank(line)) is not None


def is_error_line(line: str) -> bool:
    return is_exception_line(line) or any(word in line for word in ERROR_WORDS)


class TracebackReader:
    """Finds the line of the exception with which a traceback ends. Of chained tracebacks the last one counts."""

    def __init__(self) -> None:
        self.exception: int | None = None
        """The number of the exception's line, once it was read."""
        self.goes_on = True
        self.is_chained = False

    def read_line(self, number: int, line: str) -> None:
        """Takes the lines after the traceback's first one, in order. Sets `goes_on` to False after the end."""
        text = without_rank(line)
        if not text.strip() or text[0] in " \t":
            return
        if text.startswith(CHAINED):
            self.is_chained = self.exception is not None
        elif self.exception is None or self.is_chained:
            if not text.startswith(TRACEBACK):
                self.exception, self.is_chained = number, False
        else:
            self.goes_on = False


def find_last_error(lines: Sequence[str]) -> int | None:
    """Finds the line that names the error: the exception of the last traceback, else the last line of an exception,
    else the last line with a word for errors.
    """
    heads = [number for number, line in enumerate(lines) if without_rank(line).startswith(TRACEBACK)]
    if heads:
        reader = TracebackReader()
        for number in range(heads[-1] + 1, len(lines)):
            reader.read_line(number, lines[number])
            if not reader.goes_on:
                break
        if reader.exception is not None:
            return reader.exception
    for is_error in (is_exception_line, is_error_line):
        for number in reversed(range(len(lines))):
            if is_error(lines[number]):
                return number
    return None
