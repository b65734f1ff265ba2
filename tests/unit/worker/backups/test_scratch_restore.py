"""A file that was changed or cannot be unpacked is no backup."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from cluster.services.context import Cluster
from worker.backups.errors import BackupBroken
from worker.backups.scratch_restore import check_backup_digest, check_database_kind, load_into_scratch


class Sink:
    """A scratch database that takes whatever is loaded into it."""

    def load(self, text: Any) -> None:
        text.read()


def test_another_digest_is_found(tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_bytes(b"whole")
    check_backup_digest(file, hashlib.sha256(b"whole").hexdigest())
    file.write_bytes(b"whale")
    with pytest.raises(BackupBroken):
        check_backup_digest(file, hashlib.sha256(b"whole").hexdigest())


def test_what_is_not_compressed_is_not_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_bytes(b"no zstd")
    with pytest.raises(BackupBroken):
        load_into_scratch(file, Sink())  # type: ignore[arg-type]


def test_the_text_of_another_kind_of_database_is_not_loaded(light_cluster: Cluster) -> None:
    check_database_kind(light_cluster.settings, {"database": "sqlite"})
    with pytest.raises(BackupBroken):
        check_database_kind(light_cluster.settings, {"database": "postgresql"})
