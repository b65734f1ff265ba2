"""Drill a backup: load it into a scratch database and compare the result with its manifest."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from cluster.domain.audit_seals import SealViolation
from cluster.domain.errors import Unavailable
from cluster.services.audit.seals import SealAnchor, find_first_violation
from cluster.services.backups.manifests import manifest_path, read_backups
from cluster.settings import Settings
from cluster.store.migrate import head_revision
from worker.backups.dump import delete_unfinished, hold_backup_lock
from worker.backups.dump_files import read_manifest_values, write_backup_manifest
from worker.backups.errors import BackupBroken, disk_full_as_unavailable
from worker.backups.scratch_cluster import open_scratch_cluster
from worker.backups.scratch_restore import check_database_kind, restore_to_scratch

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
    manifest = read_manifest_values(path)
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


def find_seal_violation(settings: Settings, url: str, manifest: dict[str, Any]) -> SealViolation | None:
    anchor = manifest["audit_seal"]
    anchors = [SealAnchor(manifest["name"], *anchor)] if anchor else []
    with open_scratch_cluster(settings, url) as scratch:
        return find_first_violation(scratch, anchors)
