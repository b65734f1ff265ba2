"""The values of the log tab as the server renders it: log files, last lines of one file, result of a search."""

from dataclasses import dataclass

from flask import request

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from portal.i18n.translate import _
from portal.job_files import log_chunks, log_search
from portal.job_files.metrics_cache import MetricsCache
from portal.presenters.jobs.job_page import JobView
from portal.shared_objects import shared_object
from portal.web import query_params

KINDS = ("stdout", "stderr")
LAUNCHER_LOG = "launcher"
TAIL = 64 * 1024
LONGEST_QUERY = 200


@dataclass(frozen=True)
class LogTab:
    """`rank` is a number as text or `launcher`; `search_result` None: nothing was searched."""

    ranks: list[tuple[str, str]]
    rank: str
    kind: str
    tail: str
    first_problem: log_search.FirstLogProblem | None
    query: str
    search_result: log_search.LogSearchResult | None


def read_rank() -> str:
    return request.args.get("rank", "0")[:10]


def read_stream_kind() -> str:
    return query_params.choice_param("stream", KINDS, "stdout")


def log_file_name(rank: str, kind: str) -> str:
    return f"{LAUNCHER_LOG}.{kind}" if rank == LAUNCHER_LOG else f"rank-{rank}.{kind}"


def read_log_tab(view: JobView) -> LogTab:
    """An unknown rank shows an empty log: it may still come."""
    rank, kind, query = read_rank(), read_stream_kind(), request.args.get("find", "")[:LONGEST_QUERY]
    tail, problem, search_result = "", None, None
    time_slicer = shared_object(MetricsCache).time_slicer
    try:
        with open_file_beneath(view.files.root, *view.files.out, log_file_name(rank, kind)) as file:
            tail = log_chunks.read_log_chunk(file, -TAIL, TAIL).text
            problem = log_search.find_first_problem(file, time_slicer)
            search_result = log_search.search_log(file, query, time_slicer) if query else None
    except (FileMissing, FileNotPlain):
        search_result = log_search.LogSearchResult(0, [], 0, True) if query else None
    return LogTab(list_rank_choices(view), rank, kind, tail, problem, query, search_result)


def list_rank_choices(view: JobView) -> list[tuple[str, str]]:
    """Rank 0 is offered before it has written anything."""
    numbers = sorted({stream.rank for stream in view.files.logs if stream.rank is not None} | {0})
    has_launcher = any(stream.rank is None for stream in view.files.logs)
    ranks = [(str(number), _("rank %(n)s", n=number)) for number in numbers]
    return ranks + ([(LAUNCHER_LOG, _("launcher"))] if has_launcher else [])
