"""Real trainings: two Horovod ranks over Gloo, real handwritten digits, on the processor's own cores."""

import json
import math
import re
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from cluster.files.checkpoints import list_checkpoints
from portal.job_files.metrics.metrics_cache import MetricsCache
from tests.training.conftest import RunTraining, TrainingRun
from worker.adapters.datasets.sample_digits import DIGIT_IMAGES, write_sample_digits

CANONICAL = {
    "loss/train",
    "loss/validation",
    "accuracy/train",
    "accuracy/validation",
    "learning_rate",
    "images_per_second",
    "epochs",
}


@pytest.fixture(scope="module")
def training_run(run_training: RunTraining) -> TrainingRun:
    """LeNet with every variable at its default, as the first training has it."""
    return run_training("first", "lenet", {})


def read_metrics(training_run: TrainingRun) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (training_run.folder / "metrics.jsonl").read_text().splitlines()]


def weights(text: str) -> str:
    found = re.search(r"ends with weights ([0-9a-f]{12})\.$", text, re.MULTILINE)
    assert found, text
    return found[1]


def test_two_ranks_learn_the_digits(training_run: TrainingRun) -> None:
    assert training_run.exit_code == 0, training_run.read_output(0, "stderr")
    reached = MetricsCache().read(training_run.folder).last("accuracy/validation")
    assert reached is not None
    assert reached >= 0.95


def test_both_ranks_end_with_the_same_weights(training_run: TrainingRun) -> None:
    assert weights(training_run.read_output(0)) == weights(training_run.read_output(1))


def test_a_person_can_follow_it_epoch_by_epoch(training_run: TrainingRun) -> None:
    said = training_run.read_output().splitlines()
    assert said[0].startswith(
        "LeNet: 10 classes, 1438 training and 359 validation images of 32x32 grey; 2 rank(s)"
    )
    epochs = [line for line in said if line.startswith("Epoch ")]
    assert len(epochs) == training_run.variables["epochs"]
    assert re.fullmatch(
        r"Epoch 20/20: loss \d\.\d{4}, accuracy \d\.\d{4}, validation loss \d\.\d{4}, "
        r"validation accuracy 0\.9\d{3}, \d+ images/s",
        epochs[-1],
    )
    assert not [line for line in training_run.read_output(1).splitlines() if line.startswith("Epoch ")]


def test_only_the_first_rank_writes_metrics_under_their_names(training_run: TrainingRun) -> None:
    metrics = read_metrics(training_run)
    assert {name for entry in metrics for name in entry["scalars"]} == CANONICAL
    assert all(math.isfinite(value) for entry in metrics for value in entry["scalars"].values())
    assert all(before["step"] <= after["step"] for before, after in pairwise(metrics))
    assert all(before["time"] <= after["time"] for before, after in pairwise(metrics))
    points = [entry["step"] for entry in metrics if "loss/train" in entry["scalars"]]
    assert len(points) == len(set(points)) >= 3 * int(training_run.variables["epochs"])
    assert metrics[0]["scalars"] == {"epochs": training_run.variables["epochs"]}


def test_the_learning_rate_falls_as_its_schedule_says(training_run: TrainingRun) -> None:
    rates = [
        entry["scalars"]["learning_rate"]
        for entry in read_metrics(training_run)
        if "learning_rate" in entry["scalars"]
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0] / 100


def test_each_epoch_leaves_a_checkpoint_that_the_page_lists(training_run: TrainingRun) -> None:
    listed = list_checkpoints(training_run.folder)
    assert [one.epoch for one in listed] == list(range(20, 0, -1))
    assert {"accuracy/validation", "loss/validation", "loss/train"} <= set(listed[0].scalars)
    for one in listed:
        assert (training_run.folder / "checkpoints" / one.name).read_bytes().startswith(b"\x89HDF")
    assert not list((training_run.folder / "checkpoints").glob(".*"))


def test_nothing_alarming_is_printed(training_run: TrainingRun) -> None:
    for rank in (0, 1):
        assert not re.search(
            "error|warning|traceback", training_run.read_output(rank, "stderr"), re.IGNORECASE
        )


def test_the_data_set_is_real_and_always_the_same(environment: Path, digits: Path, place: Path) -> None:
    assert sorted(path.name for path in digits.iterdir()) == [*"0123456789", "README.txt"]
    write_sample_digits(environment, place / "again")
    first, again = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.png")}
        for folder in (digits, place / "again")
    )
    assert len(first) == DIGIT_IMAGES
    assert first == again


@pytest.mark.long
def test_the_mlp_learns_too_and_goes_on_from_a_checkpoint(run_training: RunTraining) -> None:
    values = {"epochs": "4", "optimizer": "sgd", "learning_rate": "0.05", "hidden_units": "64"}
    first = run_training("mlp", "mlp", {**values, "schedule": "constant"})
    assert first.exit_code == 0, first.said(0, "stderr")
    second = run_training("mlp-on", "mlp", {**values, "epochs": "6"}, GROUNDCREW_RESUME=str(first.folder))
    assert second.exit_code == 0, second.said(0, "stderr")
    assert "Goes on after epoch 4, from epoch-0004.weights.h5." in second.said()
    assert [one.epoch for one in list_checkpoints(second.folder)] == [6, 5]
    assert read_metrics(second)[0]["step"] == read_metrics(first)[-1]["step"]
    assert weights(second.said(0)) == weights(second.said(1))
    before, after = (MetricsCache().read(one.folder).last("accuracy/validation") for one in (first, second))
    assert before is not None and after is not None
    assert 0.8 < before < after


@pytest.mark.long
def test_asked_to_stop_it_saves_at_once_and_goes_on_there(run_training: RunTraining) -> None:
    """As the shim does it: each rank's wrapper is told, the launcher is not."""
    values = {"epochs": "400", "optimizer": "sgd", "learning_rate": "0.05", "schedule": "constant"}
    first = run_training("mlp-left", "mlp", values, meanwhile=ask_to_stop)
    assert first.exit_code != 0
    (left,) = re.findall(r"Asked to stop: saved after step (\d+), in epoch (\d+)\.", first.said())
    saved = max(list_checkpoints(first.folder), key=lambda one: (one.epoch or 0, one.step or 0))
    assert saved.step == int(left[0]) and saved.epoch in (int(left[1]) - 1, int(left[1]))
    epochs = {**values, "epochs": str(int(left[1]) + 1)}
    second = run_training("mlp-back", "mlp", epochs, GROUNDCREW_RESUME=str(first.folder / "checkpoints"))
    assert second.exit_code == 0, second.said(0, "stderr")
    assert read_metrics(second)[0]["step"] == saved.step
    assert weights(second.said(0)) == weights(second.said(1))


def ask_to_stop(folder: Path) -> None:
    """Once two epochs are done."""
    deadline = time.monotonic() + 120
    while len(list_checkpoints(folder)) < 2:
        assert time.monotonic() < deadline, "no checkpoint"
        time.sleep(0.05)
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if (
            len(words) > 1
            and words[1].endswith("/shim_rank.py")
            and process.environ()["GROUNDCREW_OUT"] == str(folder)
        ):
            process.send_signal(signal.SIGTERM)


def test_a_loss_that_is_no_number_ends_the_job_with_advice(run_training: RunTraining) -> None:
    values = {"optimizer": "sgd", "learning_rate": "1000", "schedule": "constant", "epochs": "3"}
    training_run = run_training("diverged", "mlp", values, ranks=1)
    assert training_run.exit_code != 0
    assert "The loss is no longer a number" in training_run.read_output(0, "stderr")
    assert any(entry.get("not_finite") == ["loss/train"] for entry in read_metrics(training_run))


def test_data_without_classes_is_said_so(run_training: RunTraining, place: Path) -> None:
    (place / "nothing").mkdir()
    training_run = run_training("no-data", "lenet", {}, ranks=1, dataset=place / "nothing")
    assert training_run.exit_code != 0
    assert "at least two folders, one per class" in training_run.read_output(0, "stderr")


@pytest.mark.long
def test_coloured_images_of_any_size_some_of_them_broken(
    run_training: RunTraining, environment: Path, place: Path
) -> None:
    for name, colour in (("red", (200, 20, 20)), ("blue", (20, 20, 200))):
        (place / "colours" / name).mkdir(parents=True)
        for number in range(21):
            Image.new("RGB", (20 + number, 50), colour).save(place / "colours" / name / f"{number}.jpg")
    (place / "colours" / "red" / "0.jpg").write_bytes(b"no image")
    training_run = run_training(
        "colours", "lenet", {"epochs": "8", "batch_size": "8"}, dataset=place / "colours"
    )
    assert training_run.exit_code == 0, training_run.read_output(0, "stderr")
    assert "32x32 RGB" in training_run.read_output()
    assert "Left out, not a readable image: red/0.jpg" in training_run.read_output(
        0, "stderr"
    ) + training_run.read_output(1, "stderr")
    assert MetricsCache().read(training_run.folder).last("accuracy/validation") == 1.0
