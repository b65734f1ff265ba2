"""Anchors are copies of the access log's newest seal outside the database: in the manifests of backups, in a file
beside the database and in the scheduler's log.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path

import structlog

from cluster.services.audit.recorded_seals import read_recorded_seals, record_newest_seal
from cluster.services.audit.seals import SealAnchor
from cluster.services.backups.manifests import read_backups
from cluster.settings import Settings
from cluster.store.audit import AuditSeal

log = structlog.get_logger()
SEAL_EVENT = "the audit is sealed"


def log_seal(seal: AuditSeal) -> None:
    """Writes the seal into the scheduler's log, from which the journal and its receivers get a copy."""
    log.info(SEAL_EVENT, seal=seal.id, entries=seal.entries, mac=seal.mac)


def anchors_in_backups(settings: Settings) -> list[SealAnchor]:
    """The anchors in the manifests of backups."""
    backups = read_backups(settings.backups)
    return [SealAnchor(each.name, *each.anchor, each.made_at) for each in backups if each.anchor is not None]


def anchors_here(settings: Settings) -> list[SealAnchor]:
    """The anchors on this machine: in the manifests of backups, and in the files beside the database."""
    return [*anchors_in_backups(settings), *read_recorded_seals(settings)]


def seal_recorder(settings: Settings) -> Callable[[AuditSeal], None]:
    """Returns the function that is called with each new seal and copies it to the log and to the file beside the
    database.
    """

    def record(seal: AuditSeal) -> None:
        log_seal(seal)
        record_newest_seal(settings, seal)

    return record


def anchors_in_log(file: Path) -> list[SealAnchor]:
    """The anchors in a log of the scheduler, the journal or syslog. Text before a line's JSON is skipped."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        return [SealAnchor(str(file), *seal) for seal in parse_seal_lines(lines)]


def parse_seal_lines(lines: Iterable[str]) -> Iterator[tuple[int, str, datetime | None]]:
    """Yields number and mac of each seal, and the time at which the line says that it was written."""
    for line in lines:
        if SEAL_EVENT not in line:
            continue
        try:
            told = json.loads(line[line.index("{") :])
        except ValueError:
            continue  # The line is incomplete or was written by another program.
        if (
            told.get("event") == SEAL_EVENT
            and isinstance(told.get("seal"), int)
            and isinstance(told.get("mac"), str)
        ):
            yield told["seal"], told["mac"], parse_timestamp(told.get("timestamp"))


def parse_timestamp(text: object) -> datetime | None:
    """Returns None also for a time without a zone."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
