"""Proves a backup: its text is read back into a scratch database, and what is there is compared with its manifest."""

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

from cluster.crash_points import outside
from cluster.domain.audit import Found
from cluster.domain.errors import Unavailable
from cluster.services.audit_seals import Anchor, first_wrong_place
from cluster.services.backups import manifest_file, read_backups
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.migrate import head_revision
from worker.backups.content import BackupBroken, Content, check_guards, compare, read_content
from worker.backups.disk import told_when_full
from worker.backups.dump import alone, database_of, forget_unfinished, write_manifest
from worker.backups.invariants import check_invariants
from worker.backups.kinds import Scratch
from worker.backups.nobody import NoBell

UNZSTD = ("zstd", "--quiet", "--decompress", "--stdout")
Look = Callable[[Settings, str], None]
"""At the scratch database, by its address. Raises BackupBroken."""


def look_no_further(settings: Settings, url: str) -> None:
    """What is compared is enough."""


def prove_newest(settings: Settings, now: datetime, look: Look = look_no_further) -> dict[str, Any]:
    """The manifest with how it went. Raises Unavailable where there is no backup."""
    with alone(settings), told_when_full(settings.backups):
        forget_unfinished(settings)
        return prove_alone(settings, now, look)


def prove_alone(settings: Settings, now: datetime, look: Look) -> dict[str, Any]:
    """`audit` in the manifest is the first place at which the restored audit is not what was sealed.

    That is no fault of the backup, which is proved: the living one is the same.
    """
    backups = read_backups(settings.backups)
    if not backups:
        raise Unavailable("backup.none", folder=str(settings.backups))
    path = manifest_file(settings.backups, backups[0].name)
    manifest: dict[str, Any] = json.loads(path.read_text())
    started = time.monotonic()
    try:
        wrong = prove(settings, manifest, look)
    except BackupBroken as broken:
        manifest.update(problem=broken.as_data(), restored_at=None, restore_seconds=None, audit=None)
    else:
        seconds = round(time.monotonic() - started, 2)
        audit = {"code": wrong.code, "data": dict(wrong.data)} if wrong else None
        manifest.update(problem="", restored_at=now.isoformat(), restore_seconds=seconds, audit=audit)
    write_manifest(settings.backups, manifest)
    return manifest


def prove(settings: Settings, manifest: dict[str, Any], look: Look) -> Found | None:
    """The first wrong place of its audit. Raises BackupBroken, Unavailable."""
    check_kind(settings, manifest)
    with restored(settings, settings.backups / manifest["name"], manifest) as scratch:
        if manifest["revision"] != head_revision():
            return None  # The audit's tables may be others than this code reads.
        wrong = check_audit_in(settings, scratch.url, manifest)
        look(settings, scratch.url)
        return wrong


def check_kind(settings: Settings, manifest: dict[str, Any]) -> None:
    """Raises BackupBroken: the SQL of one kind of database is not that of the other."""
    made_from, ours = manifest.get("database", "sqlite"), database_of(settings).kind
    if made_from != ours:
        raise BackupBroken("broken.other_kind", found=made_from, ours=ours)


@contextmanager
def restored(
    settings: Settings, file: Path, manifest: dict[str, Any], is_to_stay: bool = False
) -> Iterator[Scratch]:
    """In a scratch database, and what its manifest says. Raises BackupBroken, Unavailable."""
    check_digest(file, manifest["sha256"])
    with database_of(settings).scratch(is_to_stay) as scratch:
        with outside("backups.scratch"):
            unpack(file, scratch)
        scratch.check()
        store = Store(scratch.url)
        with closing(store), store.look() as connection:
            content = read_content(connection)
            expected = Content(manifest["revision"], manifest["rows"], manifest["audit_head"])
            compare(content, expected)
            check_guards(connection, content.rows)
            check_invariants(connection)
        yield scratch


def check_digest(file: Path, expected: str) -> None:
    with file.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != expected:
            raise BackupBroken("broken.changed")


def unpack(file: Path, scratch: Scratch) -> None:
    with subprocess.Popen([*UNZSTD, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as zstd:
        assert zstd.stdout is not None
        scratch.take(zstd.stdout)
    if zstd.returncode != 0:
        raise BackupBroken("broken.not_unpacked", exit_code=zstd.returncode)


def check_audit_in(settings: Settings, url: str, manifest: dict[str, Any]) -> Found | None:
    store = Store(url)
    with closing(store):
        anchor = manifest["audit_seal"]
        anchors = [Anchor(manifest["name"], *anchor)] if anchor else []
        copy = Cluster(store, NoBell(), replace(settings, database_url=url))
        return first_wrong_place(copy, anchors)
