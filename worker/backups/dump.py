"""Writes the database as readable SQL, with a manifest of its contents."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from cluster.domain.errors import Unavailable
from cluster.failpoints import external_call
from cluster.files.atomic import write_atomically
from cluster.services.backups.manifests import manifest_path
from cluster.settings import Settings
from cluster.store.sql.sqlite import sqlite_file
from worker.backups.encryption import delete_unfinished_copies
from worker.backups.errors import BackupBroken, disk_full_as_unavailable, raise_if_disk_full
from worker.backups.protocols import BackupDatabase
from worker.backups.sqlite import SqliteDatabase

ZSTD = ("zstd", "--quiet", "--threads=1", "-10", "--stdout")
RESERVE_BYTES = 64 * 1024**2


def open_backup_database(settings: Settings) -> BackupDatabase:
    if sqlite_file(settings.database_url) is None:
        # Importing its driver takes long, so it is imported only where it is used.
        from worker.backups.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(make_url(settings.owner_url))
    return SqliteDatabase(settings)


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


def write_compressed(path: Path, pieces: Iterable[bytes]) -> Path:
    """Compresses the pieces into an unfinished file."""
    unfinished = path.with_suffix(".unfinished")
    with suppress(FileNotFoundError):
        unfinished.unlink()
    with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        try:
            compress(pieces, file.fileno())
            os.fsync(file.fileno())
        except BaseException:
            unfinished.unlink()  # If the disk is full, the space is needed at once.
            raise
    return unfinished


def measure_file(file: Path) -> tuple[int, str]:
    """The size in bytes and the SHA-256."""
    with file.open("rb") as content:
        return os.fstat(content.fileno()).st_size, hashlib.file_digest(content, "sha256").hexdigest()


def compress(pieces: Iterable[bytes], target: int) -> None:
    """Raises Unavailable if zstd fails, for example because the disk is full."""
    with subprocess.Popen(ZSTD, stdin=subprocess.PIPE, stdout=target, stderr=subprocess.PIPE) as zstd:
        assert zstd.stdin is not None and zstd.stderr is not None
        with suppress(BrokenPipeError):  # The exit code of zstd tells the reason.
            for piece in pieces:
                zstd.stdin.write(piece)
        with suppress(BrokenPipeError):
            zstd.stdin.close()
        said = zstd.stderr.read().decode(errors="replace").strip()[-200:]
    if zstd.returncode != 0:
        raise_if_disk_full(said)
        raise Unavailable("backup.zstd_failed", exit_code=zstd.returncode, said=said)


def write_backup_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    # A manifest has counts and sums but no rows, so it may be read by those who may not read the backup.
    write_atomically(manifest_path(folder, manifest["name"]), text, 0o640)
