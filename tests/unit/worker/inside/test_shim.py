"""The shim answers its executor with one line, and each kind of stop has its grace time."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worker.inside import shim
from worker.inside.shim import STOP_SIGNALS, Shim, now_text, send_answer, usage_meter


def plan_of(folder: Path, **changes: Any) -> dict[str, Any]:
    (folder / "control").mkdir(exist_ok=True)
    (folder / "out").mkdir(exist_ok=True)
    return {"job": 7, "attempt": 1, "fence": 1, "out": str(folder / "out"), "units": 1, **changes}


@pytest.mark.parametrize(
    ("number", "grace", "seconds"),
    [
        (signal.SIGINT, 40, 40.0),
        (signal.SIGINT, 300, 60.0),
        (signal.SIGINT, None, 5.0),
        (signal.SIGTERM, 40, 5.0),
        (signal.SIGUSR1, 40, 0.0),
    ],
)
def test_a_stop_has_its_grace_time(tmp_path: Path, number: int, grace: int | None, seconds: float) -> None:
    running = Shim(str(tmp_path), plan_of(tmp_path, grace_seconds=grace))
    running.stop(number)
    assert running.stopped and running.ending is not None
    assert running.ending.grace == seconds
    running.stop(signal.SIGUSR1)
    assert running.ending.grace < 1.0


def test_a_stop_after_the_end_is_no_stop(tmp_path: Path) -> None:
    ended = Shim(str(tmp_path), plan_of(tmp_path))
    ended.status = 0
    ended.stop(signal.SIGTERM)
    assert not ended.stopped


@pytest.mark.parametrize("word", [*STOP_SIGNALS, "invented", None])
def test_a_pod_is_stopped_by_a_word_in_a_file(tmp_path: Path, word: str | None) -> None:
    running = Shim(str(tmp_path), plan_of(tmp_path, stop="stop.json", grace_seconds=40))
    if word:
        (tmp_path / "control" / "stop.json").write_text(json.dumps({"how": word}))
    running.read_stop_request()
    assert running.stopped is (word in STOP_SIGNALS)


def test_the_time_limit_ends_a_job_once(tmp_path: Path) -> None:
    running = Shim(str(tmp_path), plan_of(tmp_path, time_limit_seconds=10))
    running.handle_signal(None)
    assert not running.timed_out and running.ending is None
    running.started -= 10
    running.handle_signal(None)
    assert running.timed_out and running.ending is not None and not running.stopped


@pytest.mark.parametrize(("nodes", "name"), [(None, "UsageMeter"), (1, "UsageMeter"), (2, "GangUsageMeter")])
def test_a_gang_over_several_nodes_is_measured_by_what_its_ranks_tell(
    tmp_path: Path, nodes: int | None, name: str
) -> None:
    assert type(usage_meter(plan_of(tmp_path, nodes=nodes, ranks=2))).__name__ == name


def test_an_answer_is_one_line_of_json(capfd: pytest.CaptureFixture[str]) -> None:
    send_answer({"pid": 7})
    assert json.loads(capfd.readouterr().out) == {"pid": 7}
    assert now_text().endswith("+00:00")


def test_a_folder_without_a_plan_is_refused_in_words(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        RUNS,
        str(Path(shim.__file__).parent),
        str(tmp_path / "none"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    answer = json.loads(done.stdout)
    assert answer["refused"] == "error" and os.strerror(answer["errno"]) in answer["text"]
    assert done.returncode == shim.NO_EXIT_CODE


RUNS = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/../../cluster/files"]
import shim
sys.exit(shim.main(sys.argv[2], attached=True))
"""
