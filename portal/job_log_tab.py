"""The log tab before any script runs: which files there are, the last lines of one, and what a search found."""

from dataclasses import dataclass

from flask import current_app, request

from cluster.files.beneath import FileMissing, FileNotPlain, open_file
from portal import filters
from portal.i18n import _
from portal.job_files import log, log_search
from portal.job_files.metrics_reader import MetricsReader
from portal.job_page import READER, JobView

KINDS = ("stdout", "stderr")
LAUNCHER = "launcher"
TAIL = 64 * 1024
LONGEST_WANTED = 200


@dataclass(frozen=True)
class LogTab:
    """`rank` is a number as text or `launcher`; `found` None: nothing was searched."""

    ranks: list[tuple[str, str]]
    rank: str
    kind: str
    tail: str
    first_problem: log_search.Problem | None
    wanted: str
    found: log_search.Found | None


def chosen_rank() -> str:
    return request.args.get("rank", "0")[:10]


def chosen_kind() -> str:
    return filters.chosen("stream", KINDS, "stdout")


def file_name(rank: str, kind: str) -> str:
    return f"{LAUNCHER}.{kind}" if rank == LAUNCHER else f"rank-{rank}.{kind}"


def read_log_tab(view: JobView) -> LogTab:
    """An unknown rank shows an empty log: it may still come."""
    rank, kind, wanted = chosen_rank(), chosen_kind(), request.args.get("find", "")[:LONGEST_WANTED]
    tail, problem, found = "", None, None
    reader: MetricsReader = current_app.extensions[READER]
    try:
        with open_file(view.root, *view.out, file_name(rank, kind)) as file:
            tail = log.read_piece(file, -TAIL, TAIL).text
            problem = log_search.first_problem(file, reader.pace)
            found = log_search.find(file, wanted, reader.pace) if wanted else None
    except (FileMissing, FileNotPlain):
        found = log_search.Found(0, [], 0, True) if wanted else None
    return LogTab(ranks_of(view), rank, kind, tail, problem, wanted, found)


def ranks_of(view: JobView) -> list[tuple[str, str]]:
    """Rank 0 is offered before it has written anything."""
    numbers = sorted({stream.rank for stream in view.streams if stream.rank is not None} | {0})
    has_launcher = any(stream.rank is None for stream in view.streams)
    ranks = [(str(number), _("rank %(n)s", n=number)) for number in numbers]
    return ranks + ([(LAUNCHER, _("launcher"))] if has_launcher else [])
