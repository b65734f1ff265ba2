"""Finds text, and the first error, in all logs of an attempt, in the order of the times of their lines."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from portal.job_files.logs import log_search
from portal.job_files.logs.log_chunks import LogFile
from portal.job_files.logs.log_times import AttemptLogTimes
from portal.job_files.logs.merged_log import MOST_FILES
from portal.job_files.time_slicing import TimeSlicer


@dataclass(frozen=True)
class MergedMatch:
    """A line of one of the logs. `line` counts from 1 in its log; `time` is in Unix seconds, None if it is unknown."""

    log: LogFile
    line: int
    time: float | None
    text: str


@dataclass(frozen=True)
class MergedSearchResult:
    """`count` lines contain the text, and the first ones are listed. `covers_all`: every log was searched to its end.

    `first_error` is the first line with an error in the part of each log that was searched for one.
    """

    count: int
    matches: list[MergedMatch]
    covers_all: bool
    first_error: MergedMatch | None


def search_merged_logs(
    root: Path,
    out: Sequence[str],
    logs: Sequence[LogFile],
    times: AttemptLogTimes,
    text: str,
    time_slicer: TimeSlicer | None = None,
) -> MergedSearchResult:
    """Searches at most 16 logs within the time of one search, whatever their sizes are. An empty text finds no line."""
    until = time.monotonic() + log_search.SEARCH_SECONDS
    plain = [log for log in logs if log.is_plain and log.size]
    count, matches, errors = 0, [], []
    covers_all = len(plain) <= MOST_FILES
    for log in plain[:MOST_FILES]:
        of_file = times.of_file(log.name)
        try:
            with open_file_beneath(root, *out, log.name) as file:
                problem = log_search.find_first_problem(file, time_slicer, until)
                if problem is not None and problem.kind == "error":
                    moment = of_file.time_of(problem.offset)
                    errors.append(MergedMatch(log, problem.line, moment, problem.text))
                if not text:
                    continue
                found = log_search.search_log(file, text, time_slicer, until)
        except (FileMissing, FileNotPlain):
            continue
        count += found.count
        covers_all = covers_all and found.covers_whole_file
        matches += [
            MergedMatch(log, each.line, of_file.time_of(each.offset), each.text) for each in found.matches
        ]
    matches.sort(key=order_of_match)
    first_error = min(errors, key=order_of_match, default=None)
    return MergedSearchResult(count, matches[: log_search.LISTED_HITS], covers_all, first_error)


def order_of_match(match: MergedMatch) -> tuple[bool, float]:
    """Lines without a time come last, as in the merged log."""
    return match.time is None, match.time or 0.0
