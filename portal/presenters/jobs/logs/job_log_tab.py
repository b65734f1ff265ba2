"""The values of the log tab as the server renders it: log files, last lines of one file, result of a search."""

from dataclasses import dataclass

from flask import request

from cluster import portal_paths
from cluster.domain.states import Launcher
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from portal.i18n.reader_zone import request_zone
from portal.i18n.translate import _
from portal.job_files.logs import log_search
from portal.job_files.logs.log_chunks import KINDS, LAUNCHER_LOG, log_file_name
from portal.job_files.metrics.metrics_cache import current_metrics_cache
from portal.presenters.jobs.failed_attempt import rank_words
from portal.presenters.jobs.job_page import JobView
from portal.presenters.jobs.logs.merged_log_view import (
    ALL_RANKS,
    BOTH_STREAMS,
    LONGEST_QUERY,
    MergedView,
    read_merged_view,
)
from portal.presenters.jobs.logs.shown_log_lines import (
    PinnedProblem,
    ShownLogLine,
    pinned_problem,
    read_last_lines,
    read_level,
)
from portal.web import query_params

MOST_EXPECTED = 1_000
"""The number of ranks that are offered before they have a log."""


@dataclass(frozen=True)
class LogTab:
    """`chunks` is the address of its chunks, `rank` a number as text or `launcher`; `search_result` None: nothing was
    searched."""

    chunks: str
    ranks: list[tuple[str, str]]
    rank: str
    kind: str
    lines: list[ShownLogLine]
    """The last lines of the one log that is shown."""
    first_problem: PinnedProblem | None
    query: str
    search_result: log_search.LogSearchResult | None
    command: str = ""
    """The command line as a person would write it. Empty before the start."""
    merged: MergedView | None = None
    """The merged logs, if several are shown in one; else None."""
    level: str = ""
    """The lines that are shown: all, `warnings` (and errors) or `errors`."""
    zone: str = ""
    """The reader's time zone."""


def read_rank() -> str:
    return request.args.get("rank", "0")[:10]


def read_stream_kind() -> str:
    return query_params.choice_param("stream", KINDS, "stdout")


def read_log_tab(view: JobView) -> LogTab:
    """An unknown rank shows an empty log, because the log may appear later."""
    rank, kind = chosen_log(view)
    chunks = portal_paths.log_chunks(view.job.id, view.number if request.args.get("attempt") else None)
    ranks, command, level = list_rank_choices(view), view.files.short_command_line, read_level()
    if kind == BOTH_STREAMS or rank == ALL_RANKS:
        merged = read_merged_view(view, rank, kind)
        return LogTab(chunks, ranks, rank, kind, [], None, "", None, command, merged, level)
    query = request.args.get("find", "")[:LONGEST_QUERY]
    lines: list[ShownLogLine] = []
    problem, search_result = None, None
    time_slicer = current_metrics_cache().time_slicer
    try:
        with open_file_beneath(view.files.root, *view.files.out, log_file_name(rank, kind)) as file:
            lines = read_last_lines(view.files, log_file_name(rank, kind), file)
            problem = pinned_problem(log_search.find_first_problem(file, time_slicer))
            search_result = log_search.search_log(file, query, time_slicer) if query else None
    except (FileMissing, FileNotPlain):
        search_result = log_search.LogSearchResult(0, [], 0, True) if query else None
    zone = request_zone().key
    return LogTab(
        chunks, ranks, rank, kind, lines, problem, query, search_result, command, level=level, zone=zone
    )


def chosen_log(view: JobView) -> tuple[str, str]:
    """The log that the address names; else the one that tells why the attempt failed, else stdout of rank 0."""
    if view.failure and not {"rank", "stream"} & set(request.args):
        return view.failure.rank, view.failure.stream
    return read_rank(), query_params.choice_param("stream", (*KINDS, BOTH_STREAMS), KINDS[0])


def list_rank_choices(view: JobView) -> list[tuple[str, str]]:
    """Rank 0, and each rank of a live job, are offered before they have written anything."""
    is_alone = view.job.launcher is Launcher.PLAIN or not view.is_live
    expected = range(1 if is_alone else min(view.job.units, MOST_EXPECTED))
    numbers = sorted({stream.rank for stream in view.files.logs if stream.rank is not None}.union(expected))
    has_launcher = any(stream.rank is None for stream in view.files.logs)
    ranks = [str(number) for number in numbers] + ([LAUNCHER_LOG] if has_launcher else [])
    every = [(ALL_RANKS, _("all ranks"))] if len(ranks) > 1 else []
    return [(rank, rank_words(rank)) for rank in ranks] + every
