"""All logs of an attempt are searched at once; hits come in the order of their times."""

import time
from pathlib import Path

from portal.job_files.logs import log_search
from portal.job_files.logs.log_chunks import LogFile
from portal.job_files.logs.log_times import parse_log_times
from portal.job_files.logs.merged_log_search import MergedSearchResult, search_merged_logs
from portal.job_files.time_slicing import TimeSlicer

FILES = {
    "rank-0.stdout": "epoch 1\nloss 0.5\nepoch 2\n",
    "rank-0.stderr": "warning: slow\nValueError: bad shape\n",
    "rank-1.stdout": "EPOCH 1\nRuntimeError: first\n",
}
TIMES = b"10.0 rank-0.stdout 8\n30.0 rank-0.stdout 25\n25.0 rank-0.stderr 35\n20.0 rank-1.stdout 28\n"


def search(root: Path, text: str, **more: object) -> MergedSearchResult:
    (root / "out").mkdir(exist_ok=True)
    for name, content in FILES.items():
        (root / "out" / name).write_text(content)
    logs = [LogFile(name, len(content)) for name, content in FILES.items()]
    return search_merged_logs(root, ("out",), logs, parse_log_times(TIMES), text, TimeSlicer())


def test_hits_of_all_logs_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    found = search(tmp_path, "epoch")
    shown = [(match.log.name, match.line, match.time) for match in found.matches]
    assert shown == [("rank-0.stdout", 1, 10.0), ("rank-1.stdout", 1, 20.0), ("rank-0.stdout", 3, 30.0)]
    assert found.count == 3 and found.covers_all


def test_the_first_error_is_the_earliest_of_all_logs(tmp_path: Path) -> None:
    for text in ("", "epoch"):
        first = search(tmp_path, text).first_error
        assert first is not None
        assert (first.log.name, first.line, first.text) == ("rank-1.stdout", 2, "RuntimeError: first")
    assert search(tmp_path, "").count == 0


def test_large_logs_are_searched_within_the_time_of_one_search(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    logs = []
    for number in range(40):
        name = f"rank-{number}.stdout"
        (tmp_path / "out" / name).write_bytes(b"loss 0.5\n" * 400_000)
        logs.append(LogFile(name, 9 * 400_000))
    limit, log_search.SEARCH_SECONDS = log_search.SEARCH_SECONDS, 0.5
    begun = time.monotonic()
    try:
        found = search_merged_logs(tmp_path, ("out",), logs, parse_log_times(b""), "loss", TimeSlicer())
    finally:
        log_search.SEARCH_SECONDS = limit
    assert time.monotonic() - begun < 5
    assert not found.covers_all and len(found.matches) == log_search.LISTED_HITS
