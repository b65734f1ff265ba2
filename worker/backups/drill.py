"""Drill a backup: load it into a scratch database and compare the result with its manifest."""

import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.audit_seals import SealViolation
from cluster.domain.errors import Unavailable
from cluster.event_bus import NullEventBus
from cluster.failpoints import external_call
from cluster.services.audit.seals import SealAnchor, find_first_violation
from cluster.services.backups.manifests import manifest_path, read_backups
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.migrate import head_revision
from worker.backups.database_contents import (
    DatabaseSummary,
    check_audit_triggers,
    check_invariants,
    check_same_summary,
    read_summary,
)
from worker.backups.dump import (
    delete_unfinished,
    hold_backup_lock,
    open_backup_database,
    write_backup_manifest,
)
from worker.backups.errors import BackupBroken, disk_full_as_unavailable
from worker.backups.protocols import ScratchDatabase

UNZSTD = ("zstd", "--quiet", "--decompress", "--stdout")
ScratchCheck = Callable[[Settings, str], None]
"""A check of the scratch database at the given address. Raises BackupBroken."""


def no_scratch_check(settings: Settings, url: str) -> None:
    """Checks nothing besides the comparison with the manifest."""


def drill_newest_backup(
    settings: Settings, now: datetime, look: ScratchCheck = no_scratch_check
) -> dict[str, Any]:
    """Drills the newest backup and returns its manifest with the result. Raises Unavailable if there is no backup."""
    with hold_backup_lock(settings), disk_full_as_unavailable(settings.backups):
        delete_unfinished(settings)
        return drill_locked(settings, now, look)


def drill_locked(settings: Settings, now: datetime, look: ScratchCheck) -> dict[str, Any]:
    """Drills the newest backup; the caller holds the lock.

    `audit` in the manifest names the first audit seal that the restored rows violate. The backup counts as verified
    all the same, because the database itself has the same defect.
    """
    backups = read_backups(settings.backups)
    if not backups:
        raise Unavailable("backup.none", folder=str(settings.backups))
    path = manifest_path(settings.backups, backups[0].name)
    manifest: dict[str, Any] = json.loads(path.read_text())
    started = time.monotonic()
    try:
        wrong = run_drill(settings, manifest, look)
    except BackupBroken as broken:
        manifest.update(problem=broken.as_data(), restored_at=None, restore_seconds=None, audit=None)
    else:
        seconds = round(time.monotonic() - started, 2)
        audit = {"code": wrong.code, "data": dict(wrong.data)} if wrong else None
        manifest.update(problem="", restored_at=now.isoformat(), restore_seconds=seconds, audit=audit)
    write_backup_manifest(settings.backups, manifest)
    return manifest


def run_drill(settings: Settings, manifest: dict[str, Any], look: ScratchCheck) -> SealViolation | None:
    """Returns the first violated seal of the audit. Raises BackupBroken, Unavailable."""
    check_database_kind(settings, manifest)
    with restore_to_scratch(settings, settings.backups / manifest["name"], manifest) as scratch:
        if manifest["revision"] != head_revision():
            return None  # Another version's audit tables may differ from those that this code reads.
        wrong = find_seal_violation(settings, scratch.url, manifest)
        look(settings, scratch.url)
        return wrong


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


def find_seal_violation(settings: Settings, url: str, manifest: dict[str, Any]) -> SealViolation | None:
    store = Store(url)
    with closing(store):
        anchor = manifest["audit_seal"]
        anchors = [SealAnchor(manifest["name"], *anchor)] if anchor else []
        copy = Cluster(store, NullEventBus(), replace(settings, database_url=url))
        return find_first_violation(copy, anchors)
