"""Decides which of an attempt's logs says why it failed, and which of its lines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from cluster.domain.jobs.failures.failure_symptoms import FailureSymptomMatch, match_failure_symptom
from cluster.domain.jobs.failures.log_text import find_last_error, is_exception_line, plain_line

QUOTED_LINES = 8
LINES_BEFORE_ERROR = 5
MOST_TAILS = 12
"""The number of files that are read for one page."""
ENDED_FROM_OUTSIDE = frozenset(
    {"exit.timed_out", "exit.disk_filled", "exit.restored", "exit.interrupted_each_time", "exit.not_started"}
)
"""Ends whose cause is in no log of the program. Its last lines would mislead."""
CONSEQUENCES = (
    "ChildFailedError",
    "Horovod detected that one or more processes exited",
    "exited with non-zero status",
    "Sending process",
    "mpirun noticed that process",
    "Primary job  terminated normally",
)
"""Lines that a launcher writes after a rank has failed. They say that it failed, but not why."""


@dataclass(frozen=True)
class LogName:
    """One log of an attempt. `rank` is None for the launcher's."""

    rank: int | None
    stream: str
    """`stdout` or `stderr`."""


@dataclass(frozen=True)
class LogTail:
    """The last lines of a log."""

    log: LogName
    lines: Sequence[str]


class CauseStrength(IntEnum):
    """The value of a log's last lines for explaining a failure."""

    NOTHING = 0
    OUTPUT = 1
    CONSEQUENCE = 2
    ERROR = 3
    CAUSE = 4


@dataclass(frozen=True)
class FailureCause:
    """The log that says why an attempt failed. `error` is the place of the deciding line in `lines`, None if no line
    looks like an error.
    """

    log: LogName
    lines: tuple[str, ...]
    error: int | None
    symptom: FailureSymptomMatch | None

    @property
    def error_line(self) -> str:
        return "" if self.error is None else self.lines[self.error]


def is_explained_by_logs(end_code: str) -> bool:
    """Whether an attempt with this end has failed for a reason that its logs may name."""
    is_end_of_program = end_code.startswith("exit.") and not end_code.startswith(
        ("exit.finished", "exit.stopped")
    )
    return is_end_of_program and end_code not in ENDED_FROM_OUTSIDE


def order_of_logs(logs: Iterable[LogName], failed_rank: int | None) -> list[LogName]:
    """The logs that may say why, likeliest first, at most 12: those of the rank that failed first, then those of the
    launcher. If no rank is known to have failed, the launcher's come first and then the other ranks'.
    """

    def place(log: LogName) -> tuple[bool, bool, int, bool]:
        is_failed = log.rank is not None and log.rank == failed_rank
        return not is_failed, log.rank is not None, log.rank or 0, log.stream != "stderr"

    ordered = sorted(logs, key=place)
    if failed_rank is not None:
        ordered = [log for log in ordered if log.rank in (failed_rank, None)]
    return ordered[:MOST_TAILS]


def choose_failure_cause(tails: Sequence[LogTail], failed_rank: int | None) -> FailureCause | None:
    """The strongest tail; of equal ones the first. A launcher's counts beside a failed rank only if that rank has
    written nothing. None if nothing was written at all.
    """
    read = [(strength, cause) for tail in tails for strength, cause in [weigh_tail(tail)] if strength]
    if failed_rank is not None:
        read = [(strength, cause) for strength, cause in read if cause.log.rank == failed_rank] or read
    return max(read, key=lambda weighed: weighed[0])[1] if read else None


def weigh_tail(tail: LogTail) -> tuple[CauseStrength, FailureCause]:
    lines = [line for line in map(plain_line, tail.lines) if line.strip()]
    error = find_last_error(lines)
    first = max(0, len(lines) - QUOTED_LINES)
    if error is not None and error < len(lines) - 1:
        first = max(0, min(first, error - LINES_BEFORE_ERROR))
    quoted = tuple(lines[first : first + QUOTED_LINES])
    symptom = match_failure_symptom(([] if error is None else [lines[error]]) + list(reversed(quoted)))
    cause = FailureCause(tail.log, quoted, None if error is None else error - first, symptom)
    return strength_of(cause), cause


def strength_of(cause: FailureCause) -> CauseStrength:
    if not cause.lines:
        return CauseStrength.NOTHING
    if any(phrase in line for phrase in CONSEQUENCES for line in cause.lines):
        return CauseStrength.CAUSE if cause.symptom else CauseStrength.CONSEQUENCE
    if cause.symptom or is_exception_line(cause.error_line):
        return CauseStrength.CAUSE
    return CauseStrength.OUTPUT if cause.error is None else CauseStrength.ERROR
