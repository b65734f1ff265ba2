"""The shim reads a program's metrics: three numbers each, and the first loss that was NaN."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from worker.inside import shim_metrics


def row(**scalars: Any) -> bytes:
    """`loss__train=0.5` is the metric `loss/train`; NaN is written as our helper writes it."""
    named = {name.replace("__", "/"): value for name, value in scalars.items()}
    entry: dict[str, Any] = {"step": 1, "epoch": 1.0, "time": 1.0}
    lost = [name for name, value in named.items() if value != value]
    entry["scalars"] = {name: None if name in lost else value for name, value in named.items()}
    return json.dumps(entry | ({"not_finite": lost} if lost else {})).encode() + b"\n"


def follow(folder: Path, *pieces: bytes) -> shim_metrics.MetricResults:
    """Reads on after each piece, as the shim does while the program runs."""
    results = shim_metrics.MetricResults()
    for piece in pieces:
        with (folder / "metrics.jsonl").open("ab") as file:
            file.write(piece)
        while results.read_more(str(folder)):
            pass
    return results


def test_each_metric_is_its_lowest_highest_and_last_value(tmp_path: Path) -> None:
    results = follow(
        tmp_path, row(loss__train=3.0, accuracy__train=0.1), row(loss__train=1), row(loss__train=2)
    )
    assert results.by_name == {"loss/train": [1, 3, 2], "accuracy/train": [0.1, 0.1, 0.1]}
    assert results.not_finite is None


def test_a_line_that_is_still_being_written_waits_for_its_end(tmp_path: Path) -> None:
    whole = row(loss__train=3.0)
    results = follow(tmp_path, whole[:20], whole[20:])
    assert results.by_name == {"loss/train": [3, 3, 3]}
    assert results.read_bytes == len(whole)


@pytest.mark.parametrize(
    "piece",
    [
        row(loss__train=float("nan")),
        b'{"step": 1, "scalars": {"loss/train": NaN}}\n',
        b'{"step": 1, "scalars": {"loss/train": -Infinity}}\n',
    ],
)
def test_a_loss_that_is_no_number_is_told(tmp_path: Path, piece: bytes) -> None:
    assert follow(tmp_path, row(loss__train=3.0), piece).not_finite == "loss/train"


@pytest.mark.parametrize(
    "piece",
    [
        row(accuracy__validation=float("nan")),
        b'{"step": 1, "scalars": {"loss/train": null}}\n',
        b'{"step": 1, "scalars": {"lossy": NaN}}\n',
    ],
)
def test_only_a_loss_that_is_no_number_is_told(tmp_path: Path, piece: bytes) -> None:
    assert follow(tmp_path, piece).not_finite is None


@pytest.mark.parametrize(
    "piece",
    [
        b"no json\n",
        b"[" * 100_000 + b"\n",
        b'{"scalars": [1]}\n',
        b'{"scalars": {"../etc": 1, "": 2, "a\\nb": 3}}\n',
        b'{"scalars": {"loss": true}}\n',
        b'{"scalars": {"loss": 1' + b"0" * 400 + b"}}\n",
        b'{"scalars": {"loss": 1' + b" " * 70_000 + b"}}\n",
        b"\xff\xfe\n",
        b"x" * (2 * shim_metrics.CHUNK_BYTES) + b"\n",
    ],
)
def test_what_strangers_write_is_passed_over(tmp_path: Path, piece: bytes) -> None:
    results = follow(tmp_path, piece, row(loss__train=3.0))
    assert results.by_name == {"loss/train": [3, 3, 3]}


def test_there_is_an_end_to_the_names(tmp_path: Path) -> None:
    results = follow(tmp_path, *(row(**{f"metric_{number}": 1.0}) for number in range(100)))
    assert len(results.by_name) == shim_metrics.MOST_NAMES


def test_a_link_a_pipe_or_no_file_is_nothing(tmp_path: Path) -> None:
    results = shim_metrics.MetricResults()
    assert not results.read_more(str(tmp_path / "nowhere"))
    (tmp_path / "elsewhere").write_bytes(row(loss__train=3.0))
    (tmp_path / "metrics.jsonl").symlink_to(tmp_path / "elsewhere")
    assert not results.read_more(str(tmp_path))
    (tmp_path / "metrics.jsonl").unlink()
    os.mkfifo(tmp_path / "metrics.jsonl")
    assert not results.read_more(str(tmp_path))
    assert results.by_name == {}


def test_the_course_is_told_in_few_marks_and_ends_with_the_newest(tmp_path: Path) -> None:
    rows = [
        json.dumps({"step": n, "epoch": n / 10, "time": 1000.0 + n, "scalars": {"epochs": 500}}).encode()
        + b"\n"
        for n in range(1, 2001)
    ]
    told = follow(tmp_path, *rows[:3]).progress.to_json()
    assert told == {"epochs": 500.0, "marks": [[0.1, 1001.0], [0.2, 1002.0], [0.3, 1003.0]]}
    told = follow(tmp_path, b"".join(rows[3:])).progress.to_json()
    assert told and told["marks"][0] == [0.1, 1001.0] and told["marks"][-1] == [200.0, 3000.0]
    assert len(told["marks"]) <= 34 and told["marks"] == sorted(told["marks"])


def test_a_program_without_epochs_has_no_course(tmp_path: Path) -> None:
    assert follow(tmp_path, b'{"step": 1, "scalars": {"loss/train": 2}}\n').progress.to_json() is None


def test_epochs_that_were_done_before_are_passed_over(tmp_path: Path) -> None:
    pieces = [
        json.dumps({"step": 1, "epoch": epoch, "time": time, "scalars": {}}).encode() + b"\n"
        for epoch, time in ((1, 10), (2, 20), (1, 30), (2, 40), (3, 5), (3, 50))
    ]
    told = follow(tmp_path, *pieces).progress.to_json()
    assert told == {"epochs": None, "marks": [[1.0, 10.0], [2.0, 20.0], [3.0, 50.0]]}


def test_the_objective_that_the_program_names_is_kept(tmp_path: Path) -> None:
    named = b'{"objective": {"metric": "bleu", "lower_is_better": false}}\n'
    others = (b'{"objective": "x"}\n', b'{"objective": {"metric": "/etc"}}\n', b'{"objective": {}}\n')
    results = follow(tmp_path, named, row(bleu=3.0), *others)
    assert results.objective == {"metric": "bleu", "lower_is_better": False}
