"""What the shim last said about a running program: CPU, memory, process id."""

import json
from dataclasses import dataclass
from pathlib import Path

from cluster.files.beneath import read_small
from cluster.files.numbers import finite, whole


@dataclass(frozen=True)
class Usage:
    """Seconds of CPU since the start, bytes of memory now and at most; None where it is not known."""

    cpu_seconds: float | None
    memory_bytes: int | None
    max_memory_bytes: int | None
    pid: int | None
    processes: int | None


def read_usage(root: Path, *control: str) -> Usage | None:
    text = read_small(root, *control, "usage.json")
    if text is None:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    return Usage(
        finite(said.get("cpu_seconds")),
        whole(said.get("rss_bytes")),
        whole(said.get("max_rss_bytes")),
        whole(said.get("pid")),
        whole(said.get("processes")),
    )
