"""Reads the resource usage that the shim last wrote: CPU time, memory, process id."""

import json
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.jobs.results import MetricResults, parse_results
from cluster.files.safe_read import read_small_file
from cluster.files.untrusted_numbers import finite_or_none, whole_or_none


@dataclass(frozen=True)
class AttemptUsage:
    """CPU seconds since the start, and bytes of memory now and at most. None if the shim did not measure it."""

    cpu_seconds: float | None
    memory_bytes: int | None
    max_memory_bytes: int | None
    pid: int | None
    processes: int | None


def read_attempt_usage(root: Path, *control: str) -> AttemptUsage | None:
    text = read_small_file(root, *control, "usage.json")
    if text is None:
        return None
    try:
        usage = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(usage, dict):
        return None
    return AttemptUsage(
        finite_or_none(usage.get("cpu_seconds")),
        whole_or_none(usage.get("rss_bytes")),
        whole_or_none(usage.get("max_rss_bytes")),
        whole_or_none(usage.get("pid")),
        whole_or_none(usage.get("processes")),
    )


def read_attempt_results(root: Path, *control: str) -> MetricResults:
    """The results, read as an untrusted file, because without root the program could have written it."""
    text = read_small_file(root, *control, "usage.json")
    try:
        return parse_results(json.loads(text or b"{}").get("results") or {})
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return {}
