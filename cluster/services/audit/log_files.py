"""The access log as files, one per local day. The scheduler appends sealed audit entries, administrators may delete a
day, and nobody edits one.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.domain.errors import Conflict, NotFound, Unavailable
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_person
from cluster.failpoints import external_call
from cluster.services.audit.log_lines import audit_log_folder, local_day
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry

LOG_FILE_NAME = re.compile(r"\d{8}\.log")


@dataclass(frozen=True)
class AuditLogFile:
    """The file of one `day`, YYYYMMDD in the installation's zone; `size` is in bytes. Today's file still grows."""

    day: str
    size: int
    is_today: bool


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

    Raises Forbidden, NotFound, Conflict for today's file, which still grows, and Unavailable if the disk refuses, which
    is recorded in an entry too.
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
