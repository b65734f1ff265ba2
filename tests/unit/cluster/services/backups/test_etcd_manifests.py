"""etcd's snapshots among the backups are those with a whole manifest beside them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.backups.problems import BackupProblem
from cluster.domain.errors import Forbidden
from cluster.services.backups.etcd_manifests import (
    EtcdBackup,
    list_etcd_backups,
    parse_etcd_manifest,
    read_etcd_backups,
    read_etcd_manifest,
)
from cluster.services.backups.manifests import LARGEST_MANIFEST
from cluster.services.context import Cluster
from tests.builders import a_user, actor_of, an_administrator

NAME = "etcd-20261120T180000Z.db.zst"
MANIFEST: dict[str, Any] = {"made_at": "2026-11-20T18:00:00+00:00", "size": 7, "sha256": "ab", "revision": 42}
BACKUP = EtcdBackup(NAME, datetime(2026, 11, 20, 18, tzinfo=UTC), 7, "ab", 42)


def write(folder: Path, name: str = NAME, **changes: Any) -> Path:
    (folder / name).write_bytes(b"snapshot")
    manifest = folder / f"{name}.json"
    manifest.write_text(json.dumps(MANIFEST | changes))
    return manifest


def test_a_manifest_says_what_is_known_of_the_snapshot() -> None:
    assert parse_etcd_manifest(NAME, MANIFEST) == BACKUP
    later = "2026-11-20T19:00:00+00:00"
    more = {
        "keys": 3,
        "restored_at": later,
        "restore_seconds": 1.5,
        "problem": {"code": "broken.rows", "data": {}},
        "copied_at": later,
        "copy_problem": "disk full",
    }
    parsed = parse_etcd_manifest(NAME, MANIFEST | more)
    assert parsed is not None
    assert (parsed.keys, parsed.restore_seconds) == (3, 1.5)
    assert parsed.restored_at == parsed.copied_at == datetime(2026, 11, 20, 19, tzinfo=UTC)
    assert parsed.problem == BackupProblem("broken.rows")
    assert parsed.copy_problem == BackupProblem("broken.said", {"said": "disk full"})
    assert parse_etcd_manifest("etcd-of-somebody.db.zst", MANIFEST) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        json.dumps(MANIFEST | {"size": "many"}),
        json.dumps(MANIFEST | {"note": "x" * LARGEST_MANIFEST}),
    ],
    ids=["empty", "no mapping", "nothing said", "no number", "too large"],
)
def test_a_manifest_that_cannot_be_read_counts_as_none(tmp_path: Path, content: str) -> None:
    manifest = write(tmp_path)
    assert read_etcd_manifest(manifest) == BACKUP
    manifest.write_text(content)
    assert read_etcd_manifest(manifest) is None
    assert read_etcd_manifest(tmp_path / "missing.json") is None


def test_whole_backups_are_listed_newest_first(tmp_path: Path) -> None:
    newer = "etcd-20261121T180000Z.db.zst"
    write(tmp_path)
    write(tmp_path, newer, made_at="2026-11-21T18:00:00+00:00")
    write(tmp_path, "etcd-20261122T180000Z.db.zst").with_suffix("").unlink()
    (tmp_path / "etcd-20261123T180000Z.db.zst").write_bytes(b"no manifest")
    assert [each.name for each in read_etcd_backups(tmp_path)] == [newer, NAME]


def test_administrators_alone_are_shown_the_list(light_cluster: Cluster) -> None:
    light_cluster.settings.backups.mkdir(parents=True, exist_ok=True)
    write(light_cluster.settings.backups)
    assert list_etcd_backups(light_cluster, actor_of(an_administrator(light_cluster))) == [BACKUP]
    with pytest.raises(Forbidden):
        list_etcd_backups(light_cluster, actor_of(a_user(light_cluster)))
