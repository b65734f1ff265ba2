"""Problems of backups are read back from manifests and rows, also those that are texts."""

from typing import Any

import pytest

from cluster.domain.backups.problems import BackupProblem, parse_backup_problem


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        (None, None),
        ("", None),
        ({}, None),
        ("no space left", BackupProblem("broken.said", {"said": "no space left"})),
        ({"code": "broken.rows", "data": {"table": "jobs"}}, BackupProblem("broken.rows", {"table": "jobs"})),
    ],
)
def test_a_stored_problem_is_a_code_with_data(stored: Any, problem: BackupProblem | None) -> None:
    assert parse_backup_problem(stored) == problem


@pytest.mark.parametrize("stored", [{"code": "broken.rows"}, {"data": {}}, ["broken.rows"]])
def test_half_a_problem_is_an_error(stored: Any) -> None:
    with pytest.raises((KeyError, TypeError)):
        parse_backup_problem(stored)
