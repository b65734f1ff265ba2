"""Proves a backup: its text is read back into a scratch database, and what is there is compared with its manifest."""

import hashlib
import json
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.errors import Unavailable
from cluster.services.backups import manifest_file, read_backups
from cluster.settings import Settings
from worker.backups.dump import alone, count_rows, write_manifest


class BackupBroken(Exception):
    """What is wrong with it, in words for the manifest."""


def prove_newest(settings: Settings, now: datetime) -> dict[str, Any]:
    """The manifest with how it went. Raises Unavailable where there is no backup."""
    with alone(settings):
        return prove_alone(settings, now)


def prove_alone(settings: Settings, now: datetime) -> dict[str, Any]:
    backups = read_backups(settings.backups)
    if not backups:
        raise Unavailable("backup.none", folder=str(settings.backups))
    path = manifest_file(settings.backups, backups[0].name)
    manifest: dict[str, Any] = json.loads(path.read_text())
    started = time.monotonic()
    try:
        prove(settings, manifest)
    except BackupBroken as broken:
        manifest.update(problem=str(broken), restored_at=None, restore_seconds=None)
    else:
        seconds = round(time.monotonic() - started, 2)
        manifest.update(problem="", restored_at=now.isoformat(), restore_seconds=seconds)
    write_manifest(settings.backups, manifest)
    return manifest


def prove(settings: Settings, manifest: dict[str, Any]) -> None:
    """Raises BackupBroken."""
    file = settings.backups / manifest["name"]
    with file.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != manifest["sha256"]:
            raise BackupBroken("the file is not the one that was written: its SHA-256 differs")
    with (
        tempfile.TemporaryDirectory(dir=settings.state_dir / "database", prefix=".drill-") as scratch,
        closing(sqlite3.connect(Path(scratch) / "drill.db")) as database,
    ):
        restore(file, database)
        compare(database, manifest)


def restore(file: Path, database: sqlite3.Connection) -> None:
    """Statement by statement, so that a large file needs no memory. Raises BackupBroken."""
    database.isolation_level = None
    database.execute("PRAGMA synchronous=OFF")
    with subprocess.Popen(
        ["zstd", "--quiet", "--decompress", "--stdout", str(file)], stdout=subprocess.PIPE
    ) as zstd:
        assert zstd.stdout is not None
        try:
            for statement in statements(line.decode() for line in zstd.stdout):
                database.execute(statement)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise BackupBroken(f"its text cannot be read back: {error}") from error
        finally:
            zstd.stdout.close()
    if zstd.returncode != 0:
        raise BackupBroken(f"it cannot be unpacked: zstd ended with exit code {zstd.returncode}")


def statements(lines: Iterator[str]) -> Iterator[str]:
    """Whole ones: a text or a trigger may run over several lines. Raises BackupBroken for a cut end."""
    waiting: list[str] = []
    for line in lines:
        waiting.append(line)
        if line.rstrip().endswith(";") and sqlite3.complete_statement("".join(waiting)):
            yield "".join(waiting)
            waiting = []
    if "".join(waiting).strip():
        raise BackupBroken("it ends in the middle of a statement")


def compare(database: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    """Raises BackupBroken with the first difference."""
    answer = database.execute("PRAGMA integrity_check").fetchone()[0]
    if answer != "ok":
        raise BackupBroken(f"the restored database is damaged: {answer}")
    wrong = database.execute("PRAGMA foreign_key_check").fetchone()
    if wrong is not None:
        raise BackupBroken(f"a row of {wrong[0]} refers to one that is missing in {wrong[2]}")
    revision = database.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    if revision != manifest["revision"]:
        raise BackupBroken(f"it is of migration {revision}, its manifest says {manifest['revision']}")
    rows = count_rows(database)
    different = [
        name for name in sorted({*rows, *manifest["rows"]}) if rows.get(name) != manifest["rows"].get(name)
    ]
    if different:
        name = different[0]
        raise BackupBroken(
            f"{name} has {rows.get(name)} rows, its manifest says {manifest['rows'].get(name)}"
        )
    if not has_guard(database):
        raise BackupBroken("the trigger that keeps the audit append-only is missing")


def has_guard(database: sqlite3.Connection) -> bool:
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_entries'"
    found: int = database.execute(query).fetchone()[0]
    return found >= 3
