"""The files of one attempt, read when they are asked for."""

import json
from pathlib import Path

import pytest
from flask import Flask

from portal.job_files.attempt_files import AttemptFiles
from portal.job_files.metrics import metrics_cache


@pytest.fixture
def files(tmp_path: Path) -> AttemptFiles:
    files = AttemptFiles.of_attempt(tmp_path, 4, 12, 3)
    for folder in (files.out, files.control):
        tmp_path.joinpath(*folder).mkdir(parents=True)
    return files


def write(files: AttemptFiles, folder: tuple[str, ...], name: str, value: object) -> None:
    files.root.joinpath(*folder, name).write_text(json.dumps(value) + "\n")


def test_before_the_start_there_is_nothing(files: AttemptFiles) -> None:
    assert (files.usage, files.start_plan, files.command_line, files.logs) == (None, None, "", [])
    assert (files.image, files.shares_our_user, files.best_checkpoint, files.results) == (
        None,
        None,
        None,
        {},
    )


def test_the_plan_says_what_was_started_and_as_whom(files: AttemptFiles) -> None:
    plan = {"argv": ["python", "my train.py"], "uid": 100007, "container": "groundcrew/cpu"}
    write(files, files.control, "plan.json", plan)
    assert files.command_line == "python 'my train.py'"
    assert (files.image, files.shares_our_user) == ("groundcrew/cpu", False)


def test_usage_has_numbers_and_the_results_so_far(files: AttemptFiles) -> None:
    usage = {"cpu_seconds": 84, "pid": 7, "results": {"loss": [0.1, 0.9, 0.2]}}
    write(files, files.control, "usage.json", usage)
    assert files.usage is not None
    assert (files.usage.cpu_seconds, files.usage.pid) == (84, 7)
    assert list(files.results) == ["loss"]


@pytest.mark.parametrize("text", ["", "[]", '{"results": 3}', "{", '{"results": {"loss": "x"}}'])
def test_usage_that_a_program_has_overwritten_has_no_results(files: AttemptFiles, text: str) -> None:
    files.root.joinpath(*files.control, "usage.json").write_text(text)
    assert files.results == {}


def test_metrics_come_from_the_cache_of_the_process(files: AttemptFiles) -> None:
    app = Flask("portal")
    metrics_cache.init_app(app)
    write(files, files.out, "metrics.jsonl", {"step": 1, "scalars": {"loss": 2.0}})
    with app.app_context():
        assert files.metrics.last("loss") == 2.0
