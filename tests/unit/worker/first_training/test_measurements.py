"""The measurements of a first training are read from its log."""

import json
from pathlib import Path
from typing import Any

import pytest

from worker.first_training import run
from worker.first_training.measurements import TrainingMeasurements, read_measurements, read_stderr_tail


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(run, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(run, "NODE_TIMEOUT", 0.05)


def write_metrics(out: Path, *points: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "metrics.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))


def point(step: int, epoch: float, **scalars: float) -> dict[str, Any]:
    names = {"accuracy": "accuracy/validation", "speed": "images_per_second", "epochs": "epochs"}
    return {"step": step, "epoch": epoch, "time": 0.0, "scalars": {names[k]: v for k, v in scalars.items()}}


def test_what_was_measured_is_read_up_to_the_last_whole_line(tmp_path: Path) -> None:
    assert read_measurements(tmp_path) == TrainingMeasurements()
    points = [
        point(0, 0, epochs=4),
        point(5, 0.5, speed=800),
        point(9, 1, accuracy=0.5),
        point(14, 1.5, speed=1000),
    ]
    write_metrics(tmp_path, *points)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 18, "epo')
    measured = read_measurements(tmp_path)
    assert measured == TrainingMeasurements(1, 4, 0.5, 900)
    assert measured.share == 0.25


def test_the_last_words_of_a_job_are_those_of_its_first_rank(tmp_path: Path) -> None:
    assert read_stderr_tail(tmp_path) == ""
    (tmp_path / "rank-0.stderr").write_text("\n".join(f"line {number}" for number in range(100)))
    assert read_stderr_tail(tmp_path, lines=2) == "line 98\nline 99"
