"""Backups as they lie in their folder: the manifest beside each says what is in it and whether it was ever restored."""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.people import Actor
from cluster.domain.permissions import require_administrator
from cluster.services.context import Cluster

NAME = re.compile(r"groundcrew-\d{8}-\d{6}\.sql\.zst")
LARGEST_MANIFEST = 256 * 1024


@dataclass(frozen=True)
class Backup:
    """`size` in bytes; `restored_at` is when it was last proved by a restore, `problem` why that failed."""

    name: str
    made_at: datetime
    size: int
    sha256: str
    revision: str
    rows: dict[str, int] = field(default_factory=dict)
    restored_at: datetime | None = None
    restore_seconds: float | None = None
    problem: str = ""
    anchor: tuple[int, str] | None = None
    """Number and mac of the audit's newest seal when it was made."""

    @property
    def total_rows(self) -> int:
        return sum(self.rows.values())


def list_backups(cluster: Cluster, actor: Actor) -> list[Backup]:
    """Newest first."""
    require_administrator(actor)
    return read_backups(cluster.settings.backups)


def read_backups(folder: Path) -> list[Backup]:
    """Those with a whole manifest beside them, newest first."""
    found = [read_manifest(path) for path in folder.glob("groundcrew-*.sql.zst.json")]
    whole = [backup for backup in found if backup is not None and (folder / backup.name).is_file()]
    return sorted(whole, key=lambda backup: backup.made_at, reverse=True)


def manifest_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def read_manifest(path: Path) -> Backup | None:
    """None where it is not one of ours or cannot be read."""
    try:
        if path.stat().st_size > LARGEST_MANIFEST:
            return None
        return parse_manifest(path.name.removesuffix(".json"), json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def parse_manifest(name: str, data: dict[str, Any]) -> Backup | None:
    """Raises KeyError, TypeError, ValueError."""
    if not NAME.fullmatch(name):
        return None
    restored, anchor = data.get("restored_at"), data.get("audit_seal")
    return Backup(
        name=name,
        made_at=datetime.fromisoformat(data["made_at"]),
        size=int(data["size"]),
        sha256=str(data["sha256"]),
        revision=str(data["revision"]),
        rows={str(table): int(count) for table, count in data["rows"].items()},
        restored_at=datetime.fromisoformat(restored) if restored else None,
        restore_seconds=data.get("restore_seconds"),
        problem=str(data.get("problem") or ""),
        anchor=(int(anchor[0]), str(anchor[1])) if anchor else None,
    )
