"""The values of several logs that the log tab shows in one, in the order of their times."""

from dataclasses import dataclass

from portal.job_files.log_times import read_log_times
from portal.job_files.merged_log import read_merged_log
from portal.presenters.jobs.job_page import JobView
from portal.presenters.jobs.shown_log_lines import ShownLogLine, lines_of_level, read_level, shown_log_line
from portal.web import query_params

BOTH_STREAMS, ALL_RANKS = "both", "all"
"""The word in the address in place of one stream or one rank: all lines are merged by their times."""


@dataclass(frozen=True)
class MergedView:
    """`earlier` is the value of `before` with which older lines are shown. None if there are none."""

    lines: list[ShownLogLine]
    earlier: str | None
    left_out_files: int
    has_times: bool
    hidden_lines: int = 0
    """Lines of other levels than the one that the address asks for."""


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
    lines = [shown_log_line(line) for line in merged.lines]
    shown = lines_of_level(lines, read_level())
    return MergedView(
        shown,
        None if merged.earlier is None else f"{merged.earlier:.1f}",
        merged.left_out_files,
        any(line.time is not None for line in merged.lines),
        len(lines) - len(shown),
    )
