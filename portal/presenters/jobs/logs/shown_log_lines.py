"""Lines of logs as the server renders them: with their times in the reader's zone and their levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

from cluster.domain.jobs.failures.failure_symptoms import match_failure_symptom
from cluster.domain.jobs.failures.log_text import is_error_line
from portal.i18n.messages import localized_sentence
from portal.i18n.translate import localized_datetime
from portal.job_files.attempt_files import AttemptFiles
from portal.job_files.logs.log_chunks import LAUNCHER_LOG, LogFile, read_log_chunk
from portal.job_files.logs.log_search import ERROR, SEARCHED_OF_A_LINE, WARNING, FirstLogProblem
from portal.job_files.logs.log_times import read_log_times
from portal.job_files.logs.merged_log import MergedLine, timed_lines
from portal.web import query_params

SHOWN_LEVELS = {"": ("", "warning", "error"), "warnings": ("warning", "error"), "errors": ("error",)}
"""The levels of the lines that are shown, by the word in the address."""
TAIL_BYTES = 64 * 1024


@dataclass(frozen=True)
class ShownLogLine:
    """One line. `clock` is the time of day, `moment` the whole time; both are empty if the time is not known."""

    clock: str
    moment: str
    rank: str
    stream: str
    text: str
    level: str
    """`error`, `warning` or nothing."""


def read_level() -> str:
    """Reads the lines that the address asks for: a key of SHOWN_LEVELS."""
    return query_params.choice_param("level", SHOWN_LEVELS)


def lines_of_level(lines: Sequence[ShownLogLine], shown: str) -> list[ShownLogLine]:
    return [line for line in lines if line.level in SHOWN_LEVELS[shown]]


def read_last_lines(files: AttemptFiles, name: str, file: BinaryIO) -> list[ShownLogLine]:
    """The lines of the last 64 KiB of one log, of the level that the address asks for."""
    chunk = read_log_chunk(file, -TAIL_BYTES, TAIL_BYTES)
    times = read_log_times(files.root, *files.control).of_file(name)
    lines = timed_lines(LogFile(name, chunk.size), chunk.start, chunk.data, times)
    return lines_of_level([shown_log_line(line) for line in lines], read_level())


def shown_log_line(line: MergedLine) -> ShownLogLine:
    moment = ""
    if line.time is not None:
        moment = localized_datetime(datetime.fromtimestamp(line.time, UTC))
    rank = LAUNCHER_LOG if line.log.rank is None else f"r{line.log.rank}"
    return ShownLogLine(moment[-8:], moment, rank, line.log.kind, line.text, line_level(line.text))


def line_level(text: str) -> str:
    """The level by which the viewer colours the line. The line of an exception is an error whatever its name."""
    begin = text[:SEARCHED_OF_A_LINE].encode()
    if is_error_line(text) or ERROR.search(begin):
        return "error"
    return "warning" if WARNING.search(begin) else ""


@dataclass(frozen=True)
class PinnedProblem:
    """The first line with an error or a warning. `says` explains the line if it is a known one, else it is empty."""

    kind: str
    line: int
    text: str
    says: str


def pinned_problem(problem: FirstLogProblem | None) -> PinnedProblem | None:
    if problem is None:
        return None
    known = match_failure_symptom([problem.text]) if problem.kind == "error" else None
    says = localized_sentence(known.code, known.data) if known else ""
    return PinnedProblem(problem.kind, problem.line, problem.text, says)
