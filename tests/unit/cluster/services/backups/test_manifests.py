"""A manifest that cannot be read hides its backup, and never the list of all."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.services.backups.manifests import LARGEST_MANIFEST, manifest_path, read_backup_manifest

MANIFEST = {
    "made_at": "2026-11-20T18:00:00+00:00",
    "size": 7,
    "sha256": "ab",
    "revision": "0001",
    "rows": {"users": 2},
}


def read(folder: Path, content: str) -> datetime | None:
    manifest = folder / "groundcrew-20261120-180000.sql.zst.json"
    manifest.write_text(content)
    backup = read_backup_manifest(manifest)
    return backup.made_at if backup else None


def test_a_whole_manifest_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps(MANIFEST)) == datetime(2026, 11, 20, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "7",
        "{}",
        json.dumps(MANIFEST | {"rows": 7}),
        json.dumps(MANIFEST | {"x": "x" * LARGEST_MANIFEST}),
    ],
    ids=["empty", "a list", "a number", "nothing said", "no rows", "too large"],
)
def test_any_other_content_counts_as_none(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) is None


def test_a_manifest_lies_beside_its_backup() -> None:
    assert manifest_path(Path("/backups"), "a.sql.zst") == Path("/backups/a.sql.zst.json")
