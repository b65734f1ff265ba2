"""A job's usage, in seconds and bytes, is read from its file."""

import json
from pathlib import Path

import pytest

from portal.job_files.usage import read_attempt_usage


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"cpu_seconds": "x", "rss_bytes": -1, "pid": 1.5}'])
def test_usage_that_is_no_usage_is_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "usage.json").write_text(text)
    usage = read_attempt_usage(tmp_path)
    assert usage is None or (usage.cpu_seconds, usage.memory_bytes, usage.pid) == (None, None, None)


def test_usage_is_seconds_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "usage.json").write_text(
        json.dumps({"cpu_seconds": 12.5, "rss_bytes": 1024, "pid": 7, "processes": 3})
    )
    usage = read_attempt_usage(tmp_path)
    assert usage is not None
    assert (usage.cpu_seconds, usage.memory_bytes, usage.processes) == (12.5, 1024, 3)
