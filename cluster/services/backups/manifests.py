"""Reads the backups in their folder. The manifest beside each says what it contains and whether a drill has verified
it.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select

from cluster.domain.backups.problems import BackupProblem, parse_backup_problem
from cluster.domain.backups.schedule import OLDEST_ACCEPTABLE
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry
from cluster.store.operations import Operation

BACKUP_NAME = re.compile(r"groundcrew-\d{8}-\d{6}\.sql\.zst")
LARGEST_MANIFEST = 256 * 1024


@dataclass(frozen=True)
class Backup:
    """One backup. `size` is in bytes; `restored_at` is the last good drill, `problem` the reason of a failed one."""

    name: str
    made_at: datetime
    size: int
    sha256: str
    revision: str
    rows: dict[str, int] = field(default_factory=dict)
    restored_at: datetime | None = None
    restore_seconds: float | None = None
    problem: BackupProblem | None = None
    database: str = "sqlite"
    copied_at: datetime | None = None
    """The time at which the file was copied to another machine. `copy_problem` is the reason of a failed copy."""
    copy_problem: BackupProblem | None = None
    anchor: tuple[int, str] | None = None
    """The number and mac of the audit's newest seal at the time of the backup."""

    @property
    def total_rows(self) -> int:
        return sum(self.rows.values())


@dataclass(frozen=True)
class BackupStatus:
    """The state of the backups as alerts need it; all fields are empty if nothing is wrong."""

    last_verified: Backup | None
    """The last verified backup whose file has not changed since."""
    is_too_old: bool
    """True if the backup is too old, or if there is none although the installation has had a night for it."""
    damaged: list[Backup]
    failed: Operation | None
    """The newest run of the nightly backup, if it failed."""


def read_backup_status(cluster: Cluster) -> BackupStatus:
    kept = read_backups(cluster.settings.backups)
    proven = last_verified_backup(kept)
    with cluster.store.read() as session:
        newest = select(Operation).where(Operation.kind == OperationKind.BACKUP)
        last = session.scalar(newest.order_by(Operation.id.desc()).limit(1))
        # Entries are never deleted, so the first one tells since when there are data to lose.
        first = None if proven else session.scalar(select(AuditEntry.at).order_by(AuditEntry.id).limit(1))
    since = proven.made_at if proven else first
    has_failed = last is not None and last.state in (OperationState.FAILED, OperationState.INTERRUPTED)
    return BackupStatus(
        last_verified=proven,
        is_too_old=since is not None and cluster.clock() - since > OLDEST_ACCEPTABLE,
        damaged=[backup for backup in kept if backup.problem],
        failed=last if has_failed else None,
    )


def last_verified_backup(backups: list[Backup]) -> Backup | None:
    """Compares when the backups were made, because later changes would be lost. `backups` are newest first."""
    return next((backup for backup in backups if backup.restored_at is not None), None)


def list_backups(cluster: Cluster, actor: Actor) -> list[Backup]:
    """The backups, newest first."""
    require_administrator(actor)
    return read_backups(cluster.settings.backups)


def read_backups(folder: Path) -> list[Backup]:
    """The backups with a complete manifest, newest first."""
    found = [read_backup_manifest(path) for path in folder.glob("groundcrew-*.sql.zst.json")]
    whole = [backup for backup in found if backup is not None and (folder / backup.name).is_file()]
    return sorted(whole, key=lambda backup: backup.made_at, reverse=True)


def manifest_path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def read_backup_manifest(path: Path) -> Backup | None:
    """Returns None if it is not one of ours or cannot be read."""
    try:
        if path.stat().st_size > LARGEST_MANIFEST:
            return None
        return parse_backup_manifest(path.name.removesuffix(".json"), json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def parse_backup_manifest(name: str, data: dict[str, Any]) -> Backup | None:
    """Raises KeyError, TypeError, ValueError."""
    if not BACKUP_NAME.fullmatch(name):
        return None
    made_at = datetime.fromisoformat(data["made_at"])
    restored, copied, anchor = data.get("restored_at"), data.get("copied_at"), data.get("audit_seal")
    return Backup(
        name=name,
        made_at=made_at,
        size=int(data["size"]),
        sha256=str(data["sha256"]),
        revision=str(data["revision"]),
        rows={str(table): int(count) for table, count in dict(data["rows"]).items()},
        restored_at=datetime.fromisoformat(restored) if restored else None,
        restore_seconds=data.get("restore_seconds"),
        problem=parse_backup_problem(data.get("problem")),
        database=str(data.get("database", "sqlite")),
        copied_at=datetime.fromisoformat(copied) if copied else None,
        copy_problem=parse_backup_problem(data.get("copy_problem")),
        anchor=(int(anchor[0]), str(anchor[1])) if anchor else None,
    )
