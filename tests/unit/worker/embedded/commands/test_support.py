"""The bundle for whoever helps: what it says, what it never says, and that it is made where things are down."""

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.redaction import REDACTED
from cluster.services.context import Cluster
from tests.builders import a_repair_run, a_user, an_administrator
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.commands import support
from worker.embedded.commands.support import TAIL_BYTES, write_support_bundle

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
CANARIES = {
    "key": "canary-of-the-key-0123456789",
    "metrics": "canary-of-metrics",
    "future": "canary-of-a-setting-to-come",
    "database": "canary-db-word",
    "token": "gc_12_" + "canaryToken" * 4,
    "bearer": "canary.bearer.text",
    "link": "Canary0" + "aB3_-" * 8,
    "form": "canary-form-word",
    "pem": "canaryInAPrivateKey",
}


@pytest.fixture
def places(tmp_path: Path) -> InstallationPaths:
    found = InstallationPaths(clone=tmp_path, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache")
    found.log_dir.mkdir(parents=True)
    return found


def settings_of(places: InstallationPaths, database: str) -> dict[str, str]:
    return {
        "GROUNDCREW_STATE_DIR": str(places.state_dir),
        "GROUNDCREW_CACHE_DIR": str(places.cache_dir),
        "GROUNDCREW_DATABASE_URL": database,
        "GROUNDCREW_REDIS_URL": "unix://portal:canary-db-word@/run/redis.sock",
        "GROUNDCREW_SECRET_KEY": CANARIES["key"],
        "GROUNDCREW_METRICS_TOKEN": CANARIES["metrics"],
        "GROUNDCREW_NOT_YET_KNOWN": CANARIES["future"],
    }


def read(path: Path) -> dict[str, str]:
    with tarfile.open(path) as bundle:
        files = {entry.name.partition("/")[2]: bundle.extractfile(entry) for entry in bundle}
        return {name: file.read().decode() for name, file in files.items() if file}


def test_no_canary_gets_into_the_bundle(places: InstallationPaths, light_cluster: Cluster) -> None:
    lines = [
        f"key {CANARIES['key']} metrics {CANARIES['metrics']} future {CANARIES['future']}",
        f"postgresql://groundcrew:{CANARIES['database']}@db/groundcrew {CANARIES['token']}",
        f"Authorization: Bearer {CANARIES['bearer']}",
        f"/links/{CANARIES['link']} password={CANARIES['form']}&x=1",
        f"-----BEGIN PRIVATE KEY-----\n{CANARIES['pem']}\n-----END PRIVATE KEY-----",
        "the portal has started",
    ]
    (places.log_dir / "portal.log").write_text("\n".join(lines) + "\n")
    (places.log_dir / "access").mkdir()
    (places.log_dir / "access" / "20261121.log").write_text(CANARIES["form"])
    url = light_cluster.settings.database_url
    path = write_support_bundle(places, settings_of(places, url), NOW)
    files = read(path)
    whole = "\n".join(files.values())
    assert [name for name, canary in CANARIES.items() if canary in whole] == []
    assert "the portal has started" in files["log/portal.log"]
    assert json.loads(files["settings.json"])["GROUNDCREW_NOT_YET_KNOWN"] == REDACTED
    assert path.stat().st_mode & 0o777 == 0o600 and not any("access" in name for name in files)


def test_it_tells_versions_counts_and_how_repairs_ended(
    places: InstallationPaths, light_cluster: Cluster
) -> None:
    a_user(light_cluster, "minji")
    a_repair_run(light_cluster, an_administrator(light_cluster), reason="words of a person")
    files = read(write_support_bundle(places, settings_of(places, light_cluster.settings.database_url), NOW))
    assert json.loads(files["versions.json"])["groundcrew"]
    assert json.loads(files["counts.json"])["repair_runs"] == 1
    assert [run["name"] for run in json.loads(files["repairs.json"])] == ["back-up-now"]
    assert json.loads(files["states.json"])["is_audit_intact"] is False
    assert "words of a person" not in files["repairs.json"]


def test_a_database_that_is_away_is_said_in_its_place(places: InstallationPaths) -> None:
    files = read(
        write_support_bundle(
            places, settings_of(places, "postgresql+psycopg://x:canary-db-word@127.0.0.1:1/x"), NOW
        )
    )
    for name in ("states.json", "counts.json", "repairs.json", "services.json"):
        assert "not_read" in json.loads(files[name]), name
    assert CANARIES["database"] not in "".join(files.values())


def test_settings_that_stop_the_start_stop_no_bundle(places: InstallationPaths) -> None:
    """And the log that says so is in it."""
    (places.log_dir / "scheduler.log").write_text("GROUNDCREW_BACKUP_AT is wrong\n")
    wrong = settings_of(places, "sqlite:////nowhere/x.db") | {"GROUNDCREW_BACKUP_AT": "99:99"}
    files = read(write_support_bundle(places, wrong, NOW))
    assert "GROUNDCREW_BACKUP_AT" in json.loads(files["states.json"])["not_read"]
    assert files["log/scheduler.log"] == "GROUNDCREW_BACKUP_AT is wrong\n"


def test_a_log_that_is_rotated_away_meanwhile_is_said_in_its_place(
    places: InstallationPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support, "list_newest_logs", lambda folder: [folder / "portal.log"])
    files = read(write_support_bundle(places, settings_of(places, "sqlite:////nowhere/x.db"), NOW))
    assert "not_read" in json.loads(files["log/portal.log"])


def test_only_the_end_of_a_long_log_goes_in_by_whole_lines(places: InstallationPaths) -> None:
    (places.log_dir / "portal.log").write_text("first\n" + "x" * TAIL_BYTES + "\nlast\n")
    files = read(write_support_bundle(places, settings_of(places, "sqlite:////nowhere/x.db"), NOW))
    assert files["log/portal.log"] == "last\n"
