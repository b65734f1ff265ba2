"""What has changed since the services were started, when the portal counts as started, and what ends the start."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.store.migrate import upgrade_database
from tests.conftest import settings_for
from tests.unit.worker.adapters.small_portal import answering
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate
from worker.bootstrap.paths import InstallationPaths
from worker.embedded import startup
from worker.embedded.startup import code_fingerprint, is_portal_healthy, migrate_database


def test_a_changed_file_or_setting_is_another_release(places: InstallationPaths) -> None:
    seen = {code_fingerprint(places)}
    assert code_fingerprint(places) in seen
    (places.clone / "portal" / "page.html").write_text("a")
    seen.add(code_fingerprint(places))
    (places.clone / "portal" / "page.html").write_text("b")
    seen.add(code_fingerprint(places))
    places.settings_file.write_text("GROUNDCREW_PORT=8471\n")
    seen.add(code_fingerprint(places))
    (places.clone / "docs" / "howto" / "jobs.md").write_text("# Jobs")
    seen.add(code_fingerprint(places))
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("status", "body", "is_healthy"),
    [
        (200, b'{"status": "ok"}', True),
        (200, b'{"status": "starting"}', False),
        (200, b"{}", False),
        (200, b"<html>", False),
        (503, b'{"status": "ok"}', False),
    ],
)
def test_make_up_waits_for_a_portal_that_says_ok(
    tmp_path: Path, status: int, body: bytes, is_healthy: bool
) -> None:
    with answering(settings_for("sqlite://", tmp_path), status, body) as settings:
        assert is_portal_healthy(settings) is is_healthy


def test_make_up_believes_the_installations_own_authority_alone(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    ensure_authority(other, "another")
    ensure_authority(tmp_path, "a test")
    ensure_certificate(tmp_path, ["127.0.0.2"])
    settings = replace(settings_for("sqlite://", tmp_path), tls_dir=tmp_path, host="127.0.0.2")
    with answering(settings, 200, b'{"status": "ok"}') as portal:
        assert is_portal_healthy(portal)
        assert not is_portal_healthy(replace(portal, tls_dir=other))


@pytest.mark.parametrize(
    ("revision", "language", "words"),
    [
        (
            "0018",
            "en",
            "made by an older version of Groundcrew (migration 0018), and this one migrates from 0101 on",
        ),
        ("0018", "ko", "더 오래된 Groundcrew가 만든 데이터베이스입니다 (마이그레이션 0018)"),
        ("9999", "en", "written by a newer version"),
    ],
)
def test_a_database_that_cannot_be_migrated_ends_the_start_with_the_way_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    revision: str,
    language: str,
    words: str,
) -> None:
    path = tmp_path / "groundcrew.db"
    settings = settings_for(f"sqlite:///{path}", tmp_path)
    upgrade_database(settings)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    monkeypatch.setattr(startup, "language_of_terminal", lambda: language)
    with pytest.raises(SystemExit) as end:
        migrate_database(settings)
    assert end.value.code == 1
    shown = capsys.readouterr().err
    assert words in shown and str(tmp_path / "database") in shown
    if revision == "0018":
        assert "docs/howto/upgrades.md" in shown
