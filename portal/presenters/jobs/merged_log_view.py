"""The values of several logs that the log tab shows in one, in the order of their times."""

from dataclasses import dataclass
from datetime import UTC, datetime

from cluster.domain.jobs.failures.log_text import is_error_line
from portal.i18n.translate import localized_datetime
from portal.job_files.log_chunks import LAUNCHER_LOG
from portal.job_files.log_times import read_log_times
from portal.job_files.merged_log import MergedLine, read_merged_log
from portal.presenters.jobs.job_page import JobView
from portal.web import query_params

BOTH_STREAMS, ALL_RANKS = "both", "all"
"""What the address names instead of one stream or one rank: the lines are merged by their times."""


@dataclass(frozen=True)
class ShownLogLine:
    """One line of several logs. `clock` is the time of day, `moment` the whole time; both are empty if nobody knows."""

    clock: str
    moment: str
    rank: str
    stream: str
    text: str
    is_error: bool


@dataclass(frozen=True)
class MergedView:
    """`earlier` is the value of `before` with which older lines are shown. None if there are none."""

    lines: list[ShownLogLine]
    earlier: str | None
    left_out_files: int
    has_times: bool


def read_merged_view(view: JobView, rank: str, kind: str) -> MergedView:
    """The last lines of the chosen logs in the order of their times, or those before the time in the address."""
    files = view.files
    logs = [
        log
        for log in files.logs
        if rank in (ALL_RANKS, log.source.removeprefix("rank-")) and kind in (BOTH_STREAMS, log.kind)
    ]
    times = read_log_times(files.root, *files.control)
    merged = read_merged_log(files.root, files.out, logs, times, query_params.time_param("before"))
    return MergedView(
        [shown_log_line(line) for line in merged.lines],
        None if merged.earlier is None else f"{merged.earlier:.1f}",
        merged.left_out_files,
        any(line.time is not None for line in merged.lines),
    )


def shown_log_line(line: MergedLine) -> ShownLogLine:
    moment = ""
    if line.time is not None:
        moment = localized_datetime(datetime.fromtimestamp(line.time, UTC))
    rank = LAUNCHER_LOG if line.log.rank is None else f"r{line.log.rank}"
    return ShownLogLine(moment[-8:], moment, rank, line.log.kind, line.text, is_error_line(line.text))
