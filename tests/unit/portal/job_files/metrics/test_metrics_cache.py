"""Metrics, checkpoints and usage out of files that strangers wrote."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from portal.job_files.metrics import metrics_cache
from portal.job_files.metrics.job_metrics import MAX_METRICS, MAX_POINTS, JobMetrics
from portal.job_files.metrics.metrics_cache import MetricsCache
from portal.job_files.metrics.metrics_rows import LONGEST_LINE
from portal.job_files.metrics.metrics_table import MAX_LINES


def row(step: int, epoch: float | None = None, time: float = 0.0, **scalars: float) -> str:
    named = {name.replace("__", "/"): value for name, value in scalars.items()}
    return json.dumps({"step": step, "epoch": epoch, "time": time, "scalars": named}) + "\n"


def test_rows_become_columns_and_a_metric_may_stand_in_some_rows_only(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        row(1, 0.5, 10.0, loss__train=2.0) + row(2, 1.0, 20.0, loss__train=1.0, accuracy__validation=0.9)
    )
    metrics = MetricsCache().read(tmp_path)
    assert metrics.points("loss/train", "step") == ([1.0, 2.0], [2.0, 1.0])
    assert metrics.points("accuracy/validation", "epoch") == ([1.0], [0.9])
    assert metrics.points("loss/train", "time")[0] == [10.0, 20.0]
    assert metrics.points("none", "step") == ([], [])
    assert metrics.best("accuracy/validation") == (0.9, 1.0)
    assert metrics.last("loss/train") == 1.0


def test_nan_and_infinity_are_news_and_no_number(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 1, "scalars": {"loss": NaN}}\n{"step": 2, "scalars": {"loss": 1e999}}\n' + row(3, loss=4.0)
    )
    metrics = MetricsCache().read(tmp_path)
    assert metrics.points("loss", "step") == ([1.0, 2.0, 3.0], [None, None, 4.0])
    assert metrics.series["loss"].not_finite_count == 2
    assert metrics.best("loss", highest=False) == (4.0, None)


HOSTILE = [
    b"\n\n",
    b"not json\n",
    b"[1, 2]\n",
    b'{"step": "1", "scalars": {"a": 1}}\n',
    b'{"step": -1, "scalars": {"a": 1}}\n',
    b'{"step": 1.5, "scalars": {"a": 1}}\n',
    b'{"step": true, "scalars": {"a": 1}}\n',
    b'{"step": 1, "scalars": [1]}\n',
    b'{"step": 1, "scalars": null}\n',
    b'{"step": 1e400, "scalars": {"a": 1}}\n',
    b'{"step": ' + b"9" * 5000 + b', "scalars": {"a": 1}}\n',
    b"[" * 60_000 + b"\n",
    b"\xff\xfe\x00\n",
    b'{"step": 1, "scalars": {"a": "1", "b": [], "c": {}, "d": true, "e": null}}\n',
    b'{"step": 1, "scalars": {"<script>": 1, "": 2, "' + b"n" * 101 + b'": 3}}\n',
    b'{"step": 1, "scalars": {"a": 1}, "x": "' + b"y" * LONGEST_LINE + b'"}\n',
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_row_of_numbers_is_passed_over(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(line + row(7, good=1.0).encode())
    metrics = MetricsCache().read(tmp_path)
    assert list(metrics.series) == ["good"]
    assert metrics.points("good", "step") == ([7.0], [1.0])


def test_a_flood_of_names_is_held_back(tmp_path: Path) -> None:
    many = {f"metric{number}": 1.0 for number in range(500)}
    (tmp_path / "metrics.jsonl").write_text(row(1, **many))
    assert len(MetricsCache().read(tmp_path).series) == MAX_METRICS


def test_a_growing_file_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    path, reader = tmp_path / "metrics.jsonl", MetricsCache()
    whole = "".join(row(step, loss=step / 10) for step in range(500)).encode()
    for end in range(0, len(whole) + 1, 997):
        path.write_bytes(b"")
        with path.open("r+b") as file:
            file.write(whole[:end])
        reader.read(tmp_path)
    path.write_bytes(whole)
    assert reader.read(tmp_path).points("loss", "step")[0] == [float(step) for step in range(500)]


def test_a_shorter_or_another_file_is_read_anew(tmp_path: Path) -> None:
    path, reader = tmp_path / "metrics.jsonl", MetricsCache()
    path.write_text(row(1, a=1.0) + row(2, a=2.0))
    reader.read(tmp_path)
    path.write_text(row(9, b=1.0))
    assert list(reader.read(tmp_path).series) == ["b"]
    (tmp_path / "other").write_text(row(1, c=1.0) * 5)
    (tmp_path / "other").rename(path)
    assert list(reader.read(tmp_path).series) == ["c"]


def test_what_was_given_out_does_not_change_any_more(tmp_path: Path) -> None:
    path, reader = tmp_path / "metrics.jsonl", MetricsCache()
    path.write_text(row(1, a=1.0))
    before = reader.read(tmp_path)
    with path.open("a") as file:
        file.write(row(2, a=2.0))
    assert reader.read(tmp_path).rows == 2
    assert before.rows == 1 and len(before.series["a"].values) == 1


def many_rows(count: int) -> bytes:
    return "".join(row(step, step / 100, step, loss=step % 7, rate=1.0) for step in range(count)).encode()


def test_a_large_file_is_read_by_several_requests_and_comes_out_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = many_rows(20_000)
    (tmp_path / "metrics.jsonl").write_bytes(whole)
    monkeypatch.setattr(metrics_cache, "READ_SECONDS", 60.0)
    at_once = MetricsCache().read(tmp_path)
    monkeypatch.setattr(metrics_cache, "READ_SECONDS", 0.02)
    reader = MetricsCache()
    in_pieces = reader.read(tmp_path)
    assert not in_pieces.is_whole and 0 < in_pieces.read_bytes < len(whole)
    while not in_pieces.is_whole:
        before, in_pieces = in_pieces.read_bytes, reader.read(tmp_path)
        assert in_pieces.is_whole or in_pieces.read_bytes > before
    assert in_pieces.is_whole
    assert in_pieces.points("loss", "step") == at_once.points("loss", "step")
    assert in_pieces.table == at_once.table
    assert (at_once.rows, at_once.read_bytes) == (20_000, len(whole))


def test_a_large_file_holds_up_no_other_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in (("large", many_rows(8_000)), ("small", many_rows(10))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_bytes(content)
    monkeypatch.setattr(metrics_cache, "READ_SECONDS", 30.0, raising=False)
    has_begun, may_end, loads, lines = threading.Event(), threading.Event(), json.loads, count()

    def stop_in_the_middle(line: bytes) -> object:
        if threading.current_thread() is not threading.main_thread() and next(lines) == 5_000:
            has_begun.set()
            assert may_end.wait(10)
        return loads(line)

    monkeypatch.setattr(json, "loads", stop_in_the_middle)
    reader = MetricsCache()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(reader.read, tmp_path, "large")
        assert has_begun.wait(10)
        assert len(reader.read(tmp_path, "small").points("loss", "step")[0]) == 10
        assert not other.done()
        may_end.set()


def test_a_small_file_waits_for_no_turn(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(many_rows(1_000))
    reader = MetricsCache()
    with ThreadPoolExecutor(1) as pool, reader.time_slicer.turn:
        assert pool.submit(reader.read, tmp_path).result(timeout=0.9 * metrics_cache.READ_SECONDS).is_whole


def test_what_is_kept_of_a_file_does_not_grow_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(
        many_rows(30_000)
        + row(30_000, 300, 30_000, loss=99.0).encode()
        + b'{"step": 30001, "epoch": 300.01, "scalars": {"loss": NaN}}\n'
        + b"".join(row(step, step / 100, step, loss=1.0).encode() for step in range(30_002, 60_000))
    )
    monkeypatch.setattr(metrics_cache, "READ_SECONDS", 60.0)
    metrics = MetricsCache().read(tmp_path)
    steps, losses = metrics.points("loss", "step")
    assert len(steps) <= MAX_POINTS and (steps[0], steps[-1]) == (0.0, 59_999.0)
    assert losses[steps.index(30_000.0)] == 99.0
    assert losses[steps.index(30_001.0)] is None
    assert metrics.best("loss") == (99.0, 300.0)
    assert (metrics.rows, metrics.series["loss"].not_finite_count, metrics.last_epoch) == (60_000, 1, 599.99)
    assert len(metrics.table.lines) <= MAX_LINES


def test_a_link_instead_of_metrics_gives_none(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(row(1, a=1.0))
    (tmp_path / "metrics.jsonl").symlink_to(tmp_path / "secret")
    assert MetricsCache().read(tmp_path) == JobMetrics()
