"""Redis, the database and the portal are probed without making anything."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import settings_for
from tests.unit.worker.adapters.small_portal import answering
from worker.adapters.health_probes import database_problem, first_line, portal_status, redis_problem
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate


@pytest.mark.parametrize("status", [200, 500, 503])
def test_the_portals_status_is_what_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with answering(settings_for("sqlite://", tmp_path), status, b"{}") as settings:
        assert portal_status(settings) == status


def test_a_portal_that_does_not_answer_has_no_status(tmp_path: Path) -> None:
    assert portal_status(replace(settings_for("sqlite://", tmp_path), host="127.0.0.1", port=9)) is None


def test_a_certificate_that_nobody_trusts_hides_no_portal(tmp_path: Path) -> None:
    ensure_authority(tmp_path, "a test")
    ensure_certificate(tmp_path, ["127.0.0.1"])
    with answering(replace(settings_for("sqlite://", tmp_path), tls_dir=tmp_path), 200, b"{}") as settings:
        assert portal_status(settings) == 200


def test_a_database_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "groundcrew.db"
    settings = settings_for(f"sqlite:///{missing}", tmp_path)
    assert str(missing) in database_problem(settings)
    assert not missing.exists()


def test_a_migrated_database_has_no_problem(tmp_path: Path, migrated_file: Path) -> None:
    assert database_problem(settings_for(f"sqlite:///{migrated_file}", tmp_path)) == ""


def test_a_redis_that_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    settings = replace(settings_for("sqlite://", tmp_path), redis_url=f"unix://{tmp_path}/none.sock")
    assert "none.sock" in redis_problem(settings)


@pytest.mark.parametrize(
    ("error", "line"),
    [(ValueError("one\ntwo"), "one"), (ValueError(""), "ValueError"), (ValueError("x" * 300), "x" * 200)],
)
def test_a_problem_is_one_line(error: Exception, line: str) -> None:
    assert first_line(error) == line
