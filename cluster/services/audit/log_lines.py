"""Appends sealed entries of the audit to the file of their day."""

import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

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

LAST_WRITTEN_FACT = "access_log"
BATCH = 1000
LOG_FOLDER = ("log", "access")


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
    """Appends each entry to the file of its own day. An entry that was committed late may belong to yesterday; an entry
    whose time is invalid goes to the file of today.
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
