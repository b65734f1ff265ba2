"""Restores a backup into a scratch database and compares it with its manifest."""

import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from cluster.failpoints import external_call
from cluster.settings import Settings
from cluster.store.engine import Store
from worker.backups.database_contents import (
    DatabaseSummary,
    check_audit_triggers,
    check_invariants,
    check_same_summary,
    read_summary,
)
from worker.backups.databases.backup_databases import open_backup_database
from worker.backups.databases.protocols import ScratchDatabase
from worker.backups.errors import BackupBroken

UNZSTD = ("zstd", "--quiet", "--decompress", "--stdout")


def check_database_kind(settings: Settings, manifest: dict[str, Any]) -> None:
    """Raises BackupBroken for the SQL of another kind of database."""
    made_from, ours = manifest.get("database", "sqlite"), open_backup_database(settings).kind
    if made_from != ours:
        raise BackupBroken("broken.other_kind", found=made_from, ours=ours)


@contextmanager
def restore_to_scratch(
    settings: Settings, file: Path, manifest: dict[str, Any], is_to_stay: bool = False
) -> Iterator[ScratchDatabase]:
    """Loads the backup into a scratch database and compares it with the manifest. Raises
    BackupBroken, Unavailable.
    """
    check_backup_digest(file, manifest["sha256"])
    with open_backup_database(settings).scratch(is_to_stay) as scratch:
        with external_call("backups.scratch"):
            load_into_scratch(file, scratch)
        scratch.check_integrity()
        store = Store(scratch.url)
        with closing(store), store.read_columns() as connection:
            content = read_summary(connection)
            expected = DatabaseSummary(manifest["revision"], manifest["rows"], manifest["audit_head"])
            check_same_summary(content, expected)
            check_audit_triggers(connection, content.rows)
            check_invariants(connection)
        yield scratch


def check_backup_digest(file: Path, expected: str) -> None:
    with file.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != expected:
            raise BackupBroken("broken.changed")


def load_into_scratch(file: Path, scratch: ScratchDatabase) -> None:
    with subprocess.Popen([*UNZSTD, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as zstd:
        assert zstd.stdout is not None
        scratch.load(zstd.stdout)
    if zstd.returncode != 0:
        raise BackupBroken("broken.not_unpacked", exit_code=zstd.returncode)
