"""Records the audit's newest seal in a file beside the database, so that a removed end of the audit is found without
another machine's log. On servers the file belongs to root, like the process that seals. A seal that the file has and
the database has lost is kept in a second file, which only grows: later seals do not hide the loss.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import select

from cluster.domain.audit_seals import SealViolation, derive_seal_key
from cluster.failpoints import external_call
from cluster.files.atomic import write_atomically
from cluster.services.audit.entry_rows import replace_fact
from cluster.services.audit.epochs import OldEpochChecker, read_epochs
from cluster.services.audit.seals import LAST_CHECK_FACT, SealAnchor, read_audit_status
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.audit import AuditSeal

log = structlog.get_logger()
NEWEST, LOST = "newest-seal.json", "lost-seals.jsonl"


def seals_folder(settings: Settings) -> Path:
    return settings.state_dir / "audit"


def record_newest_seal(settings: Settings, seal: AuditSeal) -> None:
    """Records the seal. A disk that refuses the file does not stop the sealing: the file then names an earlier seal."""
    folder = seals_folder(settings)
    told = {"seal": seal.id, "mac": seal.mac, "at": seal.at.isoformat()}
    try:
        with external_call("recorded_seals.newest"):
            folder.mkdir(mode=0o700, exist_ok=True)
            write_atomically(folder / NEWEST, json.dumps(told) + "\n")
    except OSError as error:
        log.warning("the newest seal is not recorded beside the database", error=str(error))


def read_recorded_seals(settings: Settings) -> list[SealAnchor]:
    """The newest seal, and the seals that the database has lost."""
    folder = seals_folder(settings)
    return [*read_seals(folder / NEWEST), *read_seals(folder / LOST)]


def read_seals(file: Path) -> list[SealAnchor]:
    """Reads the seals of the file. A line that is no seal, as a full disk leaves it, is skipped."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    found = [parse_seal(str(file), line) for line in lines]
    return [each for each in found if each is not None]


def parse_seal(place: str, line: str) -> SealAnchor | None:
    try:
        told: dict[str, Any] = json.loads(line)
        return SealAnchor(place, int(told["seal"]), str(told["mac"]), datetime.fromisoformat(told["at"]))
    except (ValueError, KeyError, TypeError):
        return None


def find_lost_seal(cluster: Cluster, anchors: list[SealAnchor]) -> SealViolation | None:
    """Returns the first of these seals that the database lacks, unless a restore explains it. Reads no entry."""
    wanted = {anchor.number for anchor in anchors}
    with cluster.store.read() as session:
        query = select(AuditSeal.id, AuditSeal.mac).where(AuditSeal.id.in_(wanted))
        there = {row.id: row.mac for row in session.execute(query)}
    lost = [anchor for anchor in anchors if there.get(anchor.number) != anchor.mac]
    if not lost:
        return None
    key = derive_seal_key(cluster.settings.seal_secret)
    old = OldEpochChecker(read_epochs(cluster, key), key)
    cut = [anchor for anchor in lost if not old.explains_missing(anchor.place, anchor.made_at)]
    return SealViolation("audit.cut", {"where": cut[0].place, "seal": cut[0].number}) if cut else None


def note_lost_seal(cluster: Cluster) -> SealViolation | None:
    """Called before each sealing: keeps a newest seal that the database has lost, and records the violation."""
    folder = seals_folder(cluster.settings)
    newest = read_seals(folder / NEWEST)
    violation = find_lost_seal(cluster, newest) if newest else None
    if violation is None:
        return None
    log.error("the end of the access log was cut off", seal=violation.data["seal"])
    try:
        with external_call("recorded_seals.lost"), (folder / LOST).open("a", encoding="utf-8") as file:
            file.write((folder / NEWEST).read_text(encoding="utf-8"))
        with external_call("recorded_seals.forget"):
            (folder / NEWEST).unlink()
    except OSError as error:
        log.warning("the lost seal stays where it is", error=str(error))
    covered = read_audit_status(cluster).sealed
    value = {"at": cluster.clock().isoformat(), "sealed": covered, "code": violation.code}
    with cluster.store.write() as session:
        replace_fact(session, LAST_CHECK_FACT, value | {"data": dict(violation.data)})
    return violation
