"""The access log as files, one per local day. The scheduler appends sealed audit entries, administrators may delete a
day, and nobody edits one.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.errors import Conflict, NotFound, Unavailable
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_person
from cluster.failpoints import external_call
from cluster.files.append_only import append_lines
from cluster.files.safe_read import open_folder_beneath
from cluster.services.audit.entry_rows import (
    parse_aware_moment,
    read_audit_fact,
    read_entry_rows,
    read_whole_number,
    replace_fact,
)
from cluster.services.audit.seals import load_last_seal
from cluster.services.context import Cluster
from cluster.services.storage.folders import IS_ROOT, service_ids
from cluster.store.audit import add_audit_entry

LOG_FILE_NAME = re.compile(r"\d{8}\.log")
LAST_WRITTEN_FACT = "access_log"
BATCH = 1000
LOG_FOLDER = ("log", "access")


@dataclass(frozen=True)
class AuditLogFile:
    """The file of one `day`, YYYYMMDD in the installation's zone; `size` is in bytes. Today's file still grows."""

    day: str
    size: int
    is_today: bool


def audit_log_folder(cluster: Cluster) -> Path:
    return cluster.settings.state_dir.joinpath(*LOG_FOLDER)


def append_sealed_entries(cluster: Cluster) -> int:
    """Appends the entries that were sealed since the last call and returns how many. After a crash it continues.

    Raises FileMissing, FileNotPlain, OSError.
    """
    written = 0
    with cluster.store.read() as session:
        seal = load_last_seal(session)
        last = read_whole_number(read_audit_fact(session, LAST_WRITTEN_FACT), "last_id") or 0
    until = seal.last_id if seal else 0
    while last < until:
        with cluster.store.read_columns() as connection:
            entries = list(read_entry_rows(connection, last, until, limit=BATCH))
        if not entries:
            break
        with external_call("access_log.append"):
            written += append_entries(cluster, entries)
        last = entries[-1]["id"]
        with cluster.store.write() as session:
            replace_fact(session, LAST_WRITTEN_FACT, {"last_id": last})
    return written


def append_entries(cluster: Cluster, entries: Iterable[Mapping[str, Any]]) -> int:
    """Appends each entry to the file of its own day. An entry that was committed late may belong to yesterday; one
    whose time is none stands with those of today.
    """
    days: dict[str, list[bytes]] = {}
    for entry in entries:
        day = local_day(cluster, parse_aware_moment(entry["at"]) or cluster.clock())
        days.setdefault(day, []).append(audit_log_line(cluster, entry))
    audit_log_folder(cluster).mkdir(parents=True, exist_ok=True, mode=0o700)
    # The portal, which does not run as root, lists and deletes these files. Root follows no link that it could have
    # made.
    owner = service_ids(cluster.settings) if IS_ROOT else None
    with open_folder_beneath(cluster.settings.state_dir, *LOG_FOLDER) as folder:
        if owner is not None:
            os.fchown(folder, *owner)
        return sum(append_lines(folder, f"{day}.log", lines, owner) for day, lines in days.items())


def local_day(cluster: Cluster, at: datetime) -> str:
    return f"{to_zone(cluster, at):%Y%m%d}"


def to_zone(cluster: Cluster, at: datetime) -> datetime:
    """Converts the time. The first and the last day of the calendar stay in UTC, because Python cannot convert them."""
    try:
        return at.astimezone(cluster.settings.zone)
    except OverflowError:
        return at


def audit_log_line(cluster: Cluster, entry: Mapping[str, Any]) -> bytes:
    """Returns one line of JSON. The text of a person cannot begin another line in it."""
    at = parse_aware_moment(entry["at"])
    values: dict[str, Any] = {
        "id": entry["id"],
        "at": to_zone(cluster, at).isoformat(timespec="milliseconds") if at else entry["at"],
        "who": entry["actor_name"],
        "from": entry["address"],
        "action": entry["action"],
        "object": entry["object_id"],
        "outcome": entry["outcome"],
        "request": entry["request_id"],
        **({"data": entry["data"]} if entry["data"] else {}),
    }
    return f"{json.dumps(values, ensure_ascii=False, default=str)}\n".encode(errors="backslashreplace")


def list_log_files(cluster: Cluster, actor: Actor) -> list[AuditLogFile]:
    """The files, newest first."""
    require_administrator(actor)
    folder, today = audit_log_folder(cluster), local_day(cluster, cluster.clock())
    files = sorted(
        (path for path in folder.glob("*.log") if LOG_FILE_NAME.fullmatch(path.name)), reverse=True
    )
    # A file may disappear in between, or be a link without a target.
    return [
        AuditLogFile(path.stem, log_file_size(path), path.stem == today) for path in files if path.is_file()
    ]


def log_file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def find_log_file(cluster: Cluster, actor: Actor, day: str) -> AuditLogFile:
    """Raises Forbidden, NotFound."""
    found = {file.day: file for file in list_log_files(cluster, actor)}
    if day not in found:
        raise NotFound("log", day[:20])
    return found[day]


def delete_log_file(cluster: Cluster, actor: Actor, day: str) -> None:
    """Writes an audit entry before (with the file's line count and SHA-256) and one after. If the deletion is killed,
    the second one is missing. The sealed entries stay in the database.

    Raises Forbidden, NotFound, Conflict for today's file, which still grows, and Unavailable if the disk refuses;
    that gets an entry too.
    """
    require_person(actor)
    if find_log_file(cluster, actor, day).is_today:
        raise Conflict("access_log.today", day=day)
    path = audit_log_folder(cluster) / f"{day}.log"
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound("log", day) from error
    told: dict[str, Any] = {
        "day": day,
        "lines": content.count(b"\n"),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    record_deletion(cluster, actor, "access_log.deletion_begun", "done", told)
    try:
        with external_call("access_log.delete_day"):
            path.unlink(missing_ok=True)
    except OSError as error:
        failure = {"day": day, "error": str(error.strerror)}
        record_deletion(cluster, actor, "access_log.deleted", "failed", failure)
        raise Unavailable("access_log.not_deleted", day=day, error=str(error.strerror)) from error
    record_deletion(cluster, actor, "access_log.deleted", "done", told)


def record_deletion(cluster: Cluster, actor: Actor, action: str, outcome: str, told: dict[str, Any]) -> None:
    with cluster.store.write() as session:
        add_audit_entry(session, cluster.clock(), actor, action, None, outcome, **told)
