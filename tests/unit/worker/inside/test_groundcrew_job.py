"""A training program reports through `groundcrew_job`: in a job, on other ranks, outside of any job."""

import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cluster.files.checkpoints import list_checkpoints

INSIDE = Path(__file__).parents[4] / "worker" / "inside"


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module as a job imports it, in a job without a rank."""
    monkeypatch.syspath_prepend(str(INSIDE))
    for name in (
        "HOROVOD_RANK",
        "OMPI_COMM_WORLD_RANK",
        "PMIX_RANK",
        "PMI_RANK",
        "RANK",
        "GROUNDCREW_RESUME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GROUNDCREW_OUT", str(tmp_path))
    import groundcrew_job

    module: ModuleType = groundcrew_job
    return module


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_it_loads_no_type_names() -> None:
    """They would be a third of what it costs a program to import it."""
    code = "import sys, groundcrew_job; print('typing' in sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(INSIDE)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_each_call_is_one_line(job: ModuleType, tmp_path: Path) -> None:
    job.log(step=1, epoch=0.5, scalars={"loss/train": 0.3})
    job.log(step=2)
    first, second = lines(tmp_path)
    assert (first["step"], first["epoch"], first["scalars"]) == (1, 0.5, {"loss/train": 0.3})
    assert isinstance(first["time"], float)
    assert (second["epoch"], second["scalars"]) == (None, {})


def test_keywords_find_their_graph(job: ModuleType, tmp_path: Path) -> None:
    job.log(
        step=1, loss=1, loss_validation=2, val_accuracy=0.5, accuracy_train=0.25, learning_rate=0.1, mine=7
    )
    assert lines(tmp_path)[0]["scalars"] == {
        "loss/train": 1,
        "loss/validation": 2,
        "accuracy/validation": 0.5,
        "accuracy/train": 0.25,
        "learning_rate": 0.1,
        "mine": 7,
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_said_so_and_stays_json(job: ModuleType, tmp_path: Path, value: float) -> None:
    job.log(step=1, loss=value, accuracy=0.5)
    text = (tmp_path / "metrics.jsonl").read_text()
    entry = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert entry["scalars"] == {"loss/train": None, "accuracy/train": 0.5}
    assert entry["not_finite"] == ["loss/train"]


@pytest.mark.parametrize("variable", ["HOROVOD_RANK", "RANK", "OMPI_COMM_WORLD_RANK"])
def test_only_the_first_rank_writes(
    job: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    job.log(step=1, loss=1)
    assert not (tmp_path / "metrics.jsonl").exists()
    monkeypatch.setenv(variable, "0")
    job.log(step=1, loss=1)
    assert len(lines(tmp_path)) == 1


def test_outside_a_job_it_prints(
    job: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("GROUNDCREW_OUT", "GROUNDCREW_VARIABLES", "GROUNDCREW_DATASET"):
        monkeypatch.delenv(name, raising=False)
    job.log(step=3, epoch=1, loss=0.25, accuracy=math.nan)
    assert capsys.readouterr().out == "step 3  epoch 1  accuracy/train not finite  loss/train 0.25\n"
    assert job.variables() == {}
    assert job.dataset() is None
    assert job.out() == str(Path.cwd())


def test_a_full_disk_costs_a_point_and_not_the_training(
    job: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GROUNDCREW_OUT", "/proc/nowhere")
    job.log(step=1, loss=1)
    assert "cannot write /proc/nowhere/metrics.jsonl: ENOENT" in capsys.readouterr().err


def test_it_follows_no_link(job: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "metrics.jsonl").symlink_to(tmp_path / "elsewhere")
    job.log(step=1, loss=1)
    assert (tmp_path / "elsewhere").read_text() == ""


@pytest.mark.parametrize("scalars", [{"": 1}, {"a" * 65: 1}, {"a\nb": 1}, {1: 1}, {"a": "much"}, {"a": None}])
def test_what_is_no_number_is_an_error_of_the_program(job: ModuleType, scalars: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        job.log(step=1, scalars=scalars)


def test_lines_of_several_writers_stay_whole(tmp_path: Path) -> None:
    program = (
        "import groundcrew_job\n"
        "for step in range(500):\n"
        "    groundcrew_job.log(step=step, scalars={'name-%d' % i: i / 3 for i in range(40)})\n"
    )
    environment = {"PYTHONPATH": str(INSIDE), "GROUNDCREW_OUT": str(tmp_path)}
    writers = [subprocess.Popen([sys.executable, "-c", program], env=environment) for _ in range(3)]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert sorted(entry["step"] for entry in lines(tmp_path)) == sorted(list(range(500)) * 3)  # type: ignore[type-var]


def test_the_variables_come_typed(job: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDCREW_VARIABLES", '{"epochs": 3, "learning_rate": 0.1, "optimizer": "sgd"}')
    assert job.variables() == {"epochs": 3, "learning_rate": 0.1, "optimizer": "sgd"}


def test_the_latest_checkpoint_is_the_newest_that_is_whole(job: ModuleType, tmp_path: Path) -> None:
    assert job.latest_checkpoint(str(tmp_path)) is None
    folder = Path(job.checkpoints())
    for epoch in (1, 2, 10):
        path = folder / f"epoch-{epoch:04d}.weights.h5"
        path.write_bytes(b"weights")
        job.save_checkpoint_note(epoch, epoch * 22, str(path), {"accuracy/validation": 0.5, "loss": math.nan})
    (folder / "epoch-0010.weights.h5").unlink()
    (folder / "epoch-0011.json").write_text("{ half")
    (folder / "epoch-0012.weights.h5").write_bytes(b"no note yet")
    (folder / "epoch-0013.json").write_text(json.dumps({"epoch": 13, "step": 1, "file": "../../etc/passwd"}))
    for place in (tmp_path, folder):
        assert job.latest_checkpoint(str(place)) == {
            "epoch": 2,
            "step": 44,
            "path": str(folder / "epoch-0002.weights.h5"),
            "scalars": {"accuracy/validation": 0.5, "loss": None},
        }


def test_a_resumed_job_looks_where_it_is_told(
    job: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert job.latest_checkpoint() is None
    monkeypatch.setenv("GROUNDCREW_RESUME", str(tmp_path / "gone"))
    assert job.latest_checkpoint() is None


def test_the_page_lists_the_checkpoint_with_its_note(job: ModuleType, tmp_path: Path) -> None:
    path = Path(job.checkpoints()) / "epoch-0001.weights.h5"
    path.write_bytes(b"weights")
    job.save_checkpoint_note(1, 22, str(path), {"accuracy/validation": 0.5})
    (listed,) = list_checkpoints(tmp_path)
    assert (listed.name, listed.epoch, listed.step) == ("epoch-0001.weights.h5", 1.0, 22)
    assert listed.scalars == {"accuracy/validation": 0.5}
