"""The values of the log tab if it shows several logs as one, in the order of their times."""

from dataclasses import dataclass

from flask import request

from portal.job_files.logs.log_chunks import LogFile
from portal.job_files.logs.log_times import AttemptLogTimes, read_log_times
from portal.job_files.logs.merged_log import MergedLine, read_merged_log
from portal.job_files.logs.merged_log_search import MergedMatch, search_merged_logs
from portal.job_files.metrics.metrics_cache import current_metrics_cache
from portal.presenters.jobs.job_page import JobView
from portal.presenters.jobs.logs.shown_log_lines import (
    ShownLogLine,
    lines_of_level,
    read_level,
    shown_log_line,
)
from portal.web import query_params

LONGEST_QUERY = 200
JUST_AFTER = 0.1
"""Seconds. The page of a found line shows the lines until so long after it, so that the line is among the last ones."""
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
    """The number of lines whose level is not the one that the address asks for."""
    found: "MergedHits | None" = None
    """The lines that contain the searched text, and the first error of the logs. None if nothing was searched."""


@dataclass(frozen=True)
class MergedHit:
    """`before` is the value with which the page shows the line among the last ones; None if its time is not known."""

    line: ShownLogLine
    number: int
    before: str | None


@dataclass(frozen=True)
class MergedHits:
    count: int
    hits: list[MergedHit]
    covers_all: bool
    first_error: MergedHit | None


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
        read_hits(view, logs, times) if "find" in request.args else None,
    )


def read_hits(view: JobView, logs: list[LogFile], times: AttemptLogTimes) -> MergedHits:
    """Searches the chosen logs. An empty text finds the first error alone."""
    text = request.args["find"][:LONGEST_QUERY]
    slicer = current_metrics_cache().time_slicer
    found = search_merged_logs(view.files.root, view.files.out, logs, times, text, slicer)
    first = shown_hit(found.first_error) if found.first_error else None
    return MergedHits(found.count, [shown_hit(match) for match in found.matches], found.covers_all, first)


def shown_hit(match: MergedMatch) -> MergedHit:
    line = shown_log_line(MergedLine(match.log, match.time, match.text))
    return MergedHit(line, match.line, None if match.time is None else f"{match.time + JUST_AFTER:.1f}")
