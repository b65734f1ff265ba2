"""Writes the database as readable SQL, with a manifest of its contents."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from cluster.domain.errors import Unavailable
from cluster.failpoints import external_call
from cluster.settings import Settings
from worker.backups.databases.backup_databases import open_backup_database
from worker.backups.dump_files import measure_file, write_backup_manifest, write_compressed
from worker.backups.encryption import delete_unfinished_copies
from worker.backups.errors import BackupBroken, disk_full_as_unavailable

RESERVE_BYTES = 64 * 1024**2


def make_backup(settings: Settings, now: datetime, anchor: tuple[int, str] | None = None) -> dict[str, Any]:
    """Makes a backup and returns its manifest. Writers do not wait for it. `anchor` is the newest seal of the audit.

    Raises Unavailable if something that it needs is missing or fails.
    """
    with hold_backup_lock(settings), disk_full_as_unavailable(settings.backups):
        delete_unfinished(settings)
        return write_backup(settings, now, anchor)


def write_backup(
    settings: Settings, now: datetime, anchor: tuple[int, str] | None, prefix: str = "groundcrew"
) -> dict[str, Any]:
    """Writes the manifest before the file that it describes, because neither counts without the other."""
    folder, database = settings.backups, open_backup_database(settings)
    name = f"{prefix}-{now.astimezone(settings.zone):%Y%m%d-%H%M%S}.sql.zst"
    try:
        with database.open_dump() as reading, external_call("backups.text"):
            unfinished = write_compressed(folder / name, reading.pieces)
    except BackupBroken as broken:
        raise Unavailable("backup.unreadable", problem=broken.as_data()) from broken
    # The contents of the summary are certain only now, because the whole text has been read.
    size, digest = measure_file(unfinished)
    manifest = {
        "name": name,
        "made_at": now.isoformat(),
        "database": database.kind,
        "size": size,
        "sha256": digest,
        "revision": reading.summary.revision,
        "rows": reading.summary.rows,
        "audit_head": reading.summary.audit_head,
        "audit_seal": anchor,
    }
    with external_call("backups.manifest"):
        write_backup_manifest(folder, manifest)
    with external_call("backups.file"):
        unfinished.rename(folder / name)
    return manifest


@contextmanager
def hold_backup_lock(settings: Settings) -> Iterator[None]:
    """Allows one backup or drill at a time; a second one waits. The lock ends with its process."""
    settings.backups.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (settings.backups / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_backup_space(settings: Settings) -> tuple[int, int]:
    """The free and the needed bytes. Raises Unavailable if copy and text would not fit."""
    needed = RESERVE_BYTES + 2 * open_backup_database(settings).size()
    settings.backups.mkdir(parents=True, exist_ok=True, mode=0o700)
    free = min(shutil.disk_usage(folder).free for folder in (settings.state_dir, settings.backups))
    if free < needed:
        raise Unavailable("backup.no_room", free=free, needed=needed)
    return free, needed


def delete_unfinished(settings: Settings) -> None:
    """Deletes what killed backups and drills have left. The caller holds the lock, so none of it is in use."""
    open_backup_database(settings).delete_unfinished()
    delete_unfinished_copies(settings.backups)
    for path in settings.backups.glob("*.unfinished"):
        path.unlink(missing_ok=True)
    for path in settings.backups.glob("*.sql.zst.json"):
        if not path.with_suffix("").exists():
            path.unlink(missing_ok=True)
