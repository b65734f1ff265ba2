"""The access log as files, one per local day: written from what is sealed, deleted by administrators, never edited."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.crash_points import outside
from cluster.domain.errors import Conflict, NotFound, Unavailable
from cluster.domain.people import Actor
from cluster.domain.permissions import require_administrator, require_person
from cluster.files.appended import append_lines
from cluster.files.beneath import open_folder
from cluster.services.audit_seals import last_seal
from cluster.services.context import Cluster
from cluster.services.storage import WE_ARE_ROOT, service_ids
from cluster.store.audit import AuditEntry, write_entry
from cluster.store.leases import Fact

NAME = re.compile(r"\d{8}\.log")
WRITTEN = "access_files"
BATCH = 1000
FOLDER = ("log", "access")


@dataclass(frozen=True)
class DayFile:
    """`day` is YYYYMMDD by the installation's clock; `size` in bytes. Of today's file more is to come."""

    day: str
    size: int
    is_today: bool


def folder_of(cluster: Cluster) -> Path:
    return cluster.settings.state_dir.joinpath(*FOLDER)


def write_days(cluster: Cluster) -> int:
    """Appends what has been sealed since; how many entries. What a crash has left is gone on with.

    Raises FileMissing, FileNotPlain, OSError.
    """
    written = 0
    with cluster.store.read() as session:
        seal, known = last_seal(session), session.get(Fact, WRITTEN)
    until = seal.last_id if seal else 0
    last = known.value["last_id"] if known else 0
    while last < until:
        with cluster.store.read() as session:
            entries = read_after(session, last, until)
        if not entries:
            break
        with outside("access_log.append"):
            written += append(cluster, entries)
        last = entries[-1].id
        with cluster.store.write() as session:
            session.merge(Fact(name=WRITTEN, value={"last_id": last}))
    return written


def read_after(session: Session, last: int, until: int) -> list[AuditEntry]:
    query = select(AuditEntry).where(AuditEntry.id > last, AuditEntry.id <= until)
    return list(session.scalars(query.order_by(AuditEntry.id).limit(BATCH)))


def append(cluster: Cluster, entries: Iterable[AuditEntry]) -> int:
    """Each to the file of its own day: one that was committed late may belong to yesterday."""
    days: dict[str, list[bytes]] = {}
    for entry in entries:
        days.setdefault(day_of(cluster, entry.at), []).append(line_of(cluster, entry).encode())
    folder_of(cluster).mkdir(parents=True, exist_ok=True, mode=0o700)
    # The portal, which is not root, lists and deletes them; root follows no link that it might have put there.
    owner = service_ids(cluster.settings) if WE_ARE_ROOT else None
    with open_folder(cluster.settings.state_dir, *FOLDER) as folder:
        if owner is not None:
            os.fchown(folder, *owner)
        return sum(append_lines(folder, f"{day}.log", lines, owner) for day, lines in days.items())


def day_of(cluster: Cluster, at: datetime) -> str:
    return f"{at.astimezone(cluster.settings.zone):%Y%m%d}"


def line_of(cluster: Cluster, entry: AuditEntry) -> str:
    """JSON, in which no text of a person can begin a line of its own."""
    values: dict[str, Any] = {
        "id": entry.id,
        "at": entry.at.astimezone(cluster.settings.zone).isoformat(timespec="milliseconds"),
        "who": entry.actor_name,
        "from": entry.address,
        "action": entry.action,
        "object": entry.object_id,
        "outcome": entry.outcome,
        "request": entry.request_id,
        **({"data": entry.data} if entry.data else {}),
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


def list_days(cluster: Cluster, actor: Actor) -> list[DayFile]:
    """Newest first."""
    require_administrator(actor)
    folder, today = folder_of(cluster), day_of(cluster, cluster.clock())
    files = sorted((path for path in folder.glob("*.log") if NAME.fullmatch(path.name)), reverse=True)
    # One may go meanwhile, or be a link that leads nowhere.
    return [DayFile(path.stem, size_of(path), path.stem == today) for path in files if path.is_file()]


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def find_day(cluster: Cluster, actor: Actor, day: str) -> DayFile:
    """Raises Forbidden, NotFound."""
    found = {file.day: file for file in list_days(cluster, actor)}
    if day not in found:
        raise NotFound("log", day[:20])
    return found[day]


def delete_day(cluster: Cluster, actor: Actor, day: str) -> None:
    """Its beginning is an entry, with the file's lines and SHA-256, and so is its end: one that was killed on the way
    lacks that. The sealed entries stay in the database.

    Raises Forbidden, NotFound, Conflict for today's file, to which more is to come; Unavailable where the disk
    refuses, which is an entry too.
    """
    require_person(actor)
    if find_day(cluster, actor, day).is_today:
        raise Conflict("access_log.today", day=day)
    path = folder_of(cluster) / f"{day}.log"
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound("log", day) from error
    told: dict[str, Any] = {
        "day": day,
        "lines": content.count(b"\n"),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    note_deletion(cluster, actor, "access_log.deletion_begun", "done", told)
    try:
        with outside("access_log.delete_day"):
            path.unlink(missing_ok=True)
    except OSError as error:
        failure = {"day": day, "error": str(error.strerror)}
        note_deletion(cluster, actor, "access_log.deleted", "failed", failure)
        raise Unavailable("access_log.not_deleted", day=day, error=str(error.strerror)) from error
    note_deletion(cluster, actor, "access_log.deleted", "done", told)


def note_deletion(cluster: Cluster, actor: Actor, action: str, outcome: str, told: dict[str, Any]) -> None:
    with cluster.store.write() as session:
        write_entry(session, cluster.clock(), actor, action, None, outcome, **told)
