"""Redis and the database are probed without making anything."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import settings_for
from worker.adapters.health_probes import database_problem, first_line, redis_problem


def test_a_database_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "groundcrew.db"
    settings = settings_for(f"sqlite:///{missing}", tmp_path)
    assert str(missing) in database_problem(settings)
    assert not missing.exists()


def test_a_migrated_database_has_no_problem(tmp_path: Path, migrated_file: Path) -> None:
    assert database_problem(settings_for(f"sqlite:///{migrated_file}", tmp_path)) == ""


def test_a_redis_that_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    settings = replace(settings_for("sqlite://", tmp_path), redis_url=f"unix://{tmp_path}/none.sock")
    assert redis_problem(settings) != ""


@pytest.mark.parametrize(
    ("error", "line"),
    [(ValueError("one\ntwo"), "one"), (ValueError(""), "ValueError"), (ValueError("x" * 300), "x" * 200)],
)
def test_a_problem_is_one_line(error: Exception, line: str) -> None:
    assert first_line(error) == line
