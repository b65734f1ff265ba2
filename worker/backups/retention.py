"""Mark backups whose file has changed since its drill, and delete those beyond the retention rule."""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.backups.retention import StoredBackup, surplus_backups
from cluster.services.backups.etcd_manifests import EtcdBackup, read_etcd_backups
from cluster.services.backups.manifests import Backup, manifest_path, read_backups
from cluster.services.backups.pre_restore_copies import files_of_copy, list_expired_copies
from cluster.settings import Settings
from worker.backups.dump import hold_backup_lock
from worker.backups.dump_files import write_backup_manifest
from worker.backups.errors import BackupBroken


def mark_damaged(settings: Settings) -> list[str]:
    """Reads every file and returns the names of those that have changed since they were verified."""
    with hold_backup_lock(settings):
        kept: list[Backup | EtcdBackup] = [
            *read_backups(settings.backups),
            *read_etcd_backups(settings.backups),
        ]
        found = [backup.name for backup in kept if has_file_changed(settings, backup)]
        for name in found:
            manifest: dict[str, Any] = json.loads(manifest_path(settings.backups, name).read_text())
            manifest.update(
                problem=BackupBroken("broken.changed").as_data(), restored_at=None, restore_seconds=None
            )
            write_backup_manifest(settings.backups, manifest)
    return found


def has_file_changed(settings: Settings, backup: Backup | EtcdBackup) -> bool:
    """Whether the file differs from the verified one. A file that cannot be read counts as changed."""
    try:
        return (
            backup.restored_at is not None and sha256_of_file(settings.backups / backup.name) != backup.sha256
        )
    except OSError:
        return True


def sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def delete_pre_restore_copies(settings: Settings, now: datetime) -> list[str]:
    """Deletes old copies of replaced databases, except the newest."""
    gone = list_expired_copies(settings, now)
    for path in [path for each in gone for path in files_of_copy(each)]:
        path.unlink(missing_ok=True)
    return [each.name for each in gone]


def delete_surplus_backups(settings: Settings) -> list[str]:
    """Deletes by the rule of cluster.domain.backups.retention. The file is deleted first, because a manifest alone is
    no backup.
    """
    kept = [
        StoredBackup(each.name, each.made_at, each.restored_at is not None)
        for each in read_backups(settings.backups)
    ]
    names = sorted(surplus_backups(kept, settings.zone))
    for name in names:
        (settings.backups / name).unlink(missing_ok=True)
        manifest_path(settings.backups, name).unlink(missing_ok=True)
    return names
