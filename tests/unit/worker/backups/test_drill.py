"""A backup is believed once it has been restored; what is broken in it is named."""

import hashlib
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.errors import Unavailable
from cluster.services.backups.manifests import read_backups
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from tests.builders import a_workspace, actor_of, an_administrator
from worker.backups.databases.sqlite import ROWS_PER_INSERT
from worker.backups.drill import drill_newest_backup
from worker.backups.dump import make_backup
from worker.backups.dump_files import write_backup_manifest

NOW = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)


@pytest.fixture
def lab(light_cluster: Cluster) -> Cluster:
    an_administrator(light_cluster, "o'neil; DROP TABLE users")
    a_workspace(light_cluster, name="vision")
    (light_cluster.settings.state_dir / "database").mkdir()
    return light_cluster


def made(lab: Cluster) -> tuple[dict[str, Any], Path]:
    manifest = make_backup(lab.settings, NOW)
    return manifest, lab.settings.backups / manifest["name"]


def test_a_restored_backup_has_every_row(lab: Cluster) -> None:
    manifest, _ = made(lab)
    assert manifest["rows"]["workspaces"] == 1
    proved = drill_newest_backup(lab.settings, NOW)
    assert (proved["problem"], proved["restored_at"]) == ("", NOW.isoformat())
    (backup,) = read_backups(lab.settings.backups)
    assert backup.restored_at == NOW
    assert list((lab.settings.state_dir / "database").iterdir()) == []


def test_rows_of_a_table_are_read_back_together_and_each_has_a_line(lab: Cluster) -> None:
    person = actor_of(an_administrator(lab))
    with lab.store.write() as session:
        for number in range(ROWS_PER_INSERT + 1):
            add_audit_entry(session, NOW, person, "job.stopped", number, note="a line\n); VALUES;\nmore")
    _, file = made(lab)
    text = subprocess.run(["zstd", "-dc", str(file)], capture_output=True, text=True, check=True).stdout
    assert text.count('INSERT INTO "audit_entries" VALUES(') == 2
    assert len([line for line in text.splitlines() if "'job.stopped'" in line]) == ROWS_PER_INSERT + 1
    proved = drill_newest_backup(lab.settings, NOW)
    assert (proved["problem"], proved["rows"]["audit_entries"]) == ("", ROWS_PER_INSERT + 1)


def test_one_flipped_bit_is_found(lab: Cluster) -> None:
    _, file = made(lab)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert drill_newest_backup(lab.settings, NOW)["problem"] == {"code": "broken.changed", "data": {}}


def proved(lab: Cluster, when: datetime) -> Path:
    manifest = make_backup(lab.settings, when)
    drill_newest_backup(lab.settings, when)
    return lab.settings.backups / manifest["name"]


def recompressed(lab: Cluster, change: Any) -> dict[str, Any]:
    """A backup whose text was changed and whose digest was made to fit."""
    manifest, file = made(lab)
    text = subprocess.run(["zstd", "-dc", str(file)], capture_output=True, text=True, check=True).stdout
    packed = subprocess.run(
        ["zstd", "-c"], input=change(text).encode(), capture_output=True, check=True
    ).stdout
    file.write_bytes(packed)
    write_backup_manifest(file.parent, manifest | {"sha256": hashlib.sha256(packed).hexdigest()})
    return drill_newest_backup(lab.settings, NOW)


def without(text: str, beginning: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(beginning))


def unguarded(text: str) -> str:
    """The dump of a database from which somebody has taken a trigger away."""
    begin = text.index("CREATE TRIGGER audit_entries_no_delete")
    return text[:begin] + text[text.index("END;", begin) + 4 :]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text[: len(text) // 2], "unreadable|cut|not_ours"),
        (lambda text: without(text, 'INSERT INTO "workspaces"'), "dangling"),
        (unguarded, "unguarded"),
        (lambda text: text.replace("CREATE TABLE users", "CREATE TABEL users"), "unreadable"),
    ],
    ids=["cut", "row missing", "guard missing", "not SQL"],
)  # fmt: skip
def test_what_is_wrong_in_the_text_is_named(lab: Cluster, change: Any, problem: str) -> None:
    proved = recompressed(lab, change)
    assert proved["problem"]["code"] in [f"broken.{each}" for each in problem.split("|")], proved["problem"]
    assert proved["restored_at"] is None


def test_without_a_backup_nothing_is_proved(lab: Cluster) -> None:
    with pytest.raises(Unavailable):
        drill_newest_backup(lab.settings, NOW)


def test_what_lies_there_and_is_no_manifest_is_passed_over(lab: Cluster) -> None:
    manifest, file = made(lab)
    folder = file.parent
    (folder / "groundcrew-20261121-030001.sql.zst.json").write_text("{")
    (folder / "groundcrew-x.sql.zst.json").write_text(json.dumps(manifest))
    (folder / "groundcrew-20261121-030002.sql.zst.json").write_text(json.dumps(manifest))
    assert [backup.name for backup in read_backups(folder)] == [manifest["name"]]
