"""Writes the database out as readable SQL, with a manifest of what is in it."""

import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.errors import Unavailable
from cluster.services.backups import manifest_file
from cluster.settings import Settings
from cluster.store.migrate import file_of

ZSTD = ("zstd", "--quiet", "--threads=1", "-10", "--stdout")
SPARE_BYTES = 64 * 1024**2


def make_backup(settings: Settings, now: datetime, anchor: tuple[int, str] | None = None) -> dict[str, Any]:
    """Its manifest. Writers wait only for the copy's own read: the text is made from a copy beside the database.

    Raises Unavailable where the database is none that this can write out, or zstd fails.
    """
    source = file_of(settings.database_url)
    if source is None:
        raise Unavailable("backup.sqlite_only")
    with alone(settings):
        forget_unfinished(settings)
        return write_out(settings, source, now, anchor)


def write_out(
    settings: Settings, source: Path, now: datetime, anchor: tuple[int, str] | None
) -> dict[str, Any]:
    folder = settings.backups
    name = f"groundcrew-{now.astimezone(settings.zone):%Y%m%d-%H%M%S}.sql.zst"
    scratch = settings.state_dir / "database" / f".backup-{os.getpid()}.db"
    try:
        with closing(sqlite3.connect(source)) as connection:
            connection.execute("VACUUM INTO ?", (str(scratch),))
        with closing(sqlite3.connect(scratch)) as copy:
            size, digest = write_text(folder / name, copy.iterdump())
            manifest = describe(copy, name, now, size, digest) | {"audit_seal": anchor}
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)
    write_manifest(folder, manifest)
    return manifest


@contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """One backup or drill at a time: a second one waits. The lock goes with its process, however that ends."""
    settings.backups.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (settings.backups / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_room(settings: Settings) -> tuple[int, int]:
    """Bytes that are free and bytes that are needed. Raises Unavailable where copy and text would not fit."""
    source = file_of(settings.database_url)
    needed = SPARE_BYTES + 2 * (source.stat().st_size if source else 0)
    free = shutil.disk_usage(settings.state_dir).free
    if free < needed:
        raise Unavailable("backup.no_room", free=free, needed=needed)
    return free, needed


def forget_unfinished(settings: Settings) -> None:
    """What a killed backup or drill has left; none of it is at work, for the caller is alone."""
    database = settings.state_dir / "database"
    for path in (*database.glob(".backup-*.db*"), *settings.backups.glob("groundcrew-*.unfinished")):
        path.unlink(missing_ok=True)
    for drill in database.glob(".drill-*"):
        shutil.rmtree(drill, ignore_errors=True)


def write_text(path: Path, lines: Iterable[str]) -> tuple[int, str]:
    """Compressed; bytes and SHA-256 of the file, which appears whole or not at all."""
    unfinished = path.with_suffix(".unfinished")
    with suppress(FileNotFoundError):
        unfinished.unlink()
    with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
        compress(lines, file.fileno())
        os.fsync(file.fileno())
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = os.fstat(file.fileno()).st_size
    unfinished.rename(path)
    return size, digest


def compress(lines: Iterable[str], target: int) -> None:
    with subprocess.Popen(ZSTD, stdin=subprocess.PIPE, stdout=target) as zstd:
        assert zstd.stdin is not None
        for line in lines:
            zstd.stdin.write(line.encode() + b"\n")
        zstd.stdin.close()
    if zstd.returncode != 0:
        raise Unavailable("backup.zstd_failed", exit_code=zstd.returncode)


def describe(copy: sqlite3.Connection, name: str, now: datetime, size: int, digest: str) -> dict[str, Any]:
    rows = count_rows(copy)
    head = copy.execute("SELECT max(id) FROM audit_entries").fetchone()[0]
    return {
        "name": name,
        "made_at": now.isoformat(),
        "size": size,
        "sha256": digest,
        "revision": copy.execute("SELECT version_num FROM alembic_version").fetchone()[0],
        "rows": rows,
        "audit_head": head,
    }


def count_rows(database: sqlite3.Connection) -> dict[str, int]:
    """Of every table, by its name."""
    return {
        name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables(database)
    }


def tables(database: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    for (name,) in database.execute(query).fetchall():
        yield name


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    path = manifest_file(folder, manifest["name"])
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    unfinished.chmod(0o600)
    unfinished.rename(path)
