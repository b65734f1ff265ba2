"""Reads why an attempt failed from the last lines of its logs, and shows those lines with the advice for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster.domain.jobs.failures.failure_causes import (
    FailureCause,
    LogName,
    LogTail,
    choose_failure_cause,
    is_explained_by_logs,
    order_of_logs,
)
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.files.untrusted_numbers import whole_or_none
from portal.i18n.messages import localized_hint
from portal.i18n.translate import _
from portal.job_files.attempt_files import AttemptFiles
from portal.job_files.logs.log_chunks import LAUNCHER_LOG, log_file_name, read_log_chunk

TAIL_BYTES = 16 * 1024


@dataclass(frozen=True)
class FailedAttempt:
    """The failure of one attempt. `tail` is the end of the log that tells the cause, and `cause` quotes a few lines."""

    cause: FailureCause
    tail: Sequence[str]

    @property
    def rank(self) -> str:
        """The rank as the log tab names it: a number as text, or `launcher`."""
        return LAUNCHER_LOG if self.cause.log.rank is None else str(self.cause.log.rank)

    @property
    def stream(self) -> str:
        return self.cause.log.stream

    @property
    def log_words(self) -> str:
        return f"{rank_words(self.rank)} · {self.stream}"

    @property
    def quoted(self) -> list[tuple[str, bool]]:
        """The quoted lines, and whether each is the one that decides."""
        return [(line, number == self.cause.error) for number, line in enumerate(self.cause.lines)]


def failure_hint(failure: FailedAttempt | None, end_code: str, end_data: Mapping[str, Any] | None) -> str:
    """The advice for a failed job. It is empty if the quoted lines are all that is known beyond the end of the
    program.
    """
    symptom = failure.cause.symptom if failure else None
    if symptom is not None:
        return localized_hint(symptom.code, symptom.data)
    return "" if failure and end_code == "exit.error" else localized_hint(end_code, end_data)


def rank_words(rank: str) -> str:
    return _("launcher") if rank == LAUNCHER_LOG else _("rank %(n)s", n=rank)


def read_failed_attempt(
    files: AttemptFiles, end_code: str, end_data: Mapping[str, Any] | None
) -> FailedAttempt | None:
    """Returns None if the attempt did not fail by itself, or has written nothing.

    It reads 16 KiB of each log that may hold the cause, of at most 12 logs.
    """
    if not is_explained_by_logs(end_code):
        return None
    failed_rank = whole_or_none((end_data or {}).get("rank"))
    written = [LogName(log.rank, log.kind) for log in files.logs if log.size and log.is_plain]
    tails = [LogTail(log, read_log_tail(files, log)) for log in order_of_logs(written, failed_rank)]
    cause = choose_failure_cause(tails, failed_rank)
    if cause is None:
        return None
    return FailedAttempt(cause, next(tail.lines for tail in tails if tail.log == cause.log))


def read_log_tail(files: AttemptFiles, log: LogName) -> list[str]:
    name = log_file_name(LAUNCHER_LOG if log.rank is None else str(log.rank), log.stream)
    try:
        with open_file_beneath(files.root, *files.out, name) as file:
            return read_log_chunk(file, -TAIL_BYTES, TAIL_BYTES).text.splitlines()
    except (FileMissing, FileNotPlain):
        return []
