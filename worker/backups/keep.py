"""Looks after the backups that lie there: what is no longer what was proved is marked, what is surplus goes."""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.backups import Kept, surplus
from cluster.services.backups import Backup, manifest_file, read_backups
from cluster.services.etcd_backups import EtcdBackup, read_etcd_backups
from cluster.services.put_aside import files_of, surplus_aside
from cluster.settings import Settings
from worker.backups.content import BackupBroken
from worker.backups.dump import alone, write_manifest


def mark_damaged(settings: Settings) -> list[str]:
    """Reads every file whole; the names of those that have changed since they were proved."""
    with alone(settings):
        kept: list[Backup | EtcdBackup] = [
            *read_backups(settings.backups),
            *read_etcd_backups(settings.backups),
        ]
        found = [backup.name for backup in kept if has_changed(settings, backup)]
        for name in found:
            manifest: dict[str, Any] = json.loads(manifest_file(settings.backups, name).read_text())
            manifest.update(
                problem=BackupBroken("broken.changed").as_data(), restored_at=None, restore_seconds=None
            )
            write_manifest(settings.backups, manifest)
    return found


def has_changed(settings: Settings, backup: Backup | EtcdBackup) -> bool:
    """A file that cannot be read is not what was proved either."""
    try:
        return backup.restored_at is not None and digest_of(settings.backups / backup.name) != backup.sha256
    except OSError:
        return True


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def delete_put_aside(settings: Settings, now: datetime) -> list[str]:
    """What restores have put aside long ago; the newest stays."""
    gone = surplus_aside(settings, now)
    for path in [path for each in gone for path in files_of(each)]:
        path.unlink(missing_ok=True)
    return [each.name for each in gone]


def delete_surplus(settings: Settings) -> list[str]:
    """By the rule of cluster.domain.backups; the file first, for a manifest alone is no backup."""
    kept = [
        Kept(each.name, each.made_at, each.restored_at is not None) for each in read_backups(settings.backups)
    ]
    names = sorted(surplus(kept, settings.zone))
    for name in names:
        (settings.backups / name).unlink(missing_ok=True)
        manifest_file(settings.backups, name).unlink(missing_ok=True)
    return names
