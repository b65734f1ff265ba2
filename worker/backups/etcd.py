"""Store the newest etcd snapshot among the backups and drill it: a fresh etcd must start on it and hold a cluster."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cluster.domain.backups.retention import StoredBackup, surplus_backups
from cluster.domain.errors import Unavailable
from cluster.services.backups.etcd_manifests import EtcdBackup, read_etcd_backups
from cluster.services.backups.manifests import manifest_path
from cluster.settings import Settings
from worker.backups.dump import hold_backup_lock
from worker.backups.dump_files import measure_file, write_backup_manifest, write_compressed
from worker.backups.errors import BackupBroken, disk_full_as_unavailable
from worker.backups.etcd_restore import PROGRAMS, EtcdSnapshot, restore_and_count_keys
from worker.backups.scratch_restore import check_backup_digest

STAMP = "etcd-%Y%m%dT%H%M%SZ.db"
PIECE = 1024 * 1024
NEWER_THAN = timedelta(hours=24, minutes=10)
"""A snapshot is written each night by another timer than the backup's. If the newest one is older, the last night's
snapshot failed.
"""


def back_up_etcd_snapshot(settings: Settings, now: datetime) -> EtcdBackup | None:
    """Stores and drills the newest snapshot. Returns None if this installation has no Kubernetes.

    Raises Unavailable if there is no snapshot, or it is too old or broken.
    """
    if settings.etcd_snapshots is None:
        return None
    with hold_backup_lock(settings), disk_full_as_unavailable(settings.backups):
        snapshot = find_newest_snapshot(settings.etcd_snapshots)
        store_snapshot(settings, snapshot)
        manifest = drill_snapshot(settings, snapshot, now)
        delete_surplus_snapshots(settings)
        if manifest["problem"]:
            raise Unavailable("backup.broken", name=manifest["name"], problem=manifest["problem"])
        if now - snapshot.made_at > NEWER_THAN:
            raise Unavailable("backup.etcd_too_old", name=snapshot.file.name)
        return next(each for each in read_etcd_backups(settings.backups) if each.name == manifest["name"])


def find_newest_snapshot(folder: Path) -> EtcdSnapshot:
    """Raises Unavailable if there is no snapshot with a readable record."""
    for record in sorted(folder.glob("etcd-*.db.json"), reverse=True):
        file = record.with_suffix("")
        try:
            told = json.loads(record.read_text())
            made_at = datetime.strptime(file.name, STAMP).replace(tzinfo=UTC)
            programs = [Path(told["programs"]) / f"{name}-{told['version']}" for name in PROGRAMS]
            if file.is_file():
                return EtcdSnapshot(file, made_at, int(told["status"]["revision"]), *programs)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    raise Unavailable("backup.no_etcd", folder=str(folder))


def store_snapshot(settings: Settings, snapshot: EtcdSnapshot) -> None:
    """Copies the snapshot unless it was copied before. The manifest is written before the file, because neither
    counts alone.
    """
    target = settings.backups / f"{snapshot.file.name}.zst"
    if target.exists() and manifest_path(settings.backups, target.name).exists():
        return
    with snapshot.file.open("rb") as content:
        unfinished = write_compressed(target, iter(lambda: content.read(PIECE), b""))
    size, digest = measure_file(unfinished)
    manifest = {
        "name": target.name,
        "made_at": snapshot.made_at.isoformat(),
        "size": size,
        "sha256": digest,
        "revision": snapshot.revision,
    }
    write_backup_manifest(settings.backups, manifest)
    unfinished.rename(target)


def drill_snapshot(settings: Settings, snapshot: EtcdSnapshot, now: datetime) -> dict[str, Any]:
    """Drills the snapshot and returns the manifest with the result. Raises Unavailable if etcd itself is missing."""
    name = f"{snapshot.file.name}.zst"
    manifest: dict[str, Any] = json.loads(manifest_path(settings.backups, name).read_text())
    started = time.monotonic()
    try:
        check_backup_digest(settings.backups / name, manifest["sha256"])
        keys = restore_and_count_keys(settings.backups, name, snapshot)
    except BackupBroken as broken:
        manifest.update(problem=broken.as_data(), restored_at=None, restore_seconds=None)
    except FileNotFoundError as missing:
        raise Unavailable("backup.etcd_programs", program=str(missing.filename)) from missing
    else:
        seconds = round(time.monotonic() - started, 2)
        manifest.update(problem="", restored_at=now.isoformat(), restore_seconds=seconds, keys=keys)
    write_backup_manifest(settings.backups, manifest)
    return manifest


def delete_surplus_snapshots(settings: Settings) -> None:
    """Deletes by the rule for the database's backups. The file is deleted first, because a manifest alone is no
    backup.
    """
    kept = [
        StoredBackup(each.name, each.made_at, each.restored_at is not None)
        for each in read_etcd_backups(settings.backups)
    ]
    for name in surplus_backups(kept, settings.zone):
        (settings.backups / name).unlink(missing_ok=True)
        manifest_path(settings.backups, name).unlink(missing_ok=True)
