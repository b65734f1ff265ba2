"""The plan of a start is read as carefully as any file that a program may have written."""

import json
from pathlib import Path

import pytest

from portal.job_files.start_plan import StartPlanFile, read_start_plan_file


def test_a_plan_tells_command_environment_and_user(tmp_path: Path) -> None:
    plan = {"argv": ["python", 3], "environment": {"B": 2, "A": "1"}, "ranks": 4, "cwd": "/data", "uid": 7001}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    read = read_start_plan_file(tmp_path)
    assert read == StartPlanFile(("python", "3"), {"A": "1", "B": "2"}, 4, "/data", 7001, None, None)


@pytest.mark.parametrize("text", [None, "", "[]", "{", "[" * 20000])
def test_what_is_no_plan_is_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "plan.json").write_text(text)
    assert read_start_plan_file(tmp_path) is None


def test_wrong_kinds_of_values_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"argv": "rm", "environment": [], "ranks": -1, "uid": true}')
    assert read_start_plan_file(tmp_path) == StartPlanFile()
