"""Reads the etcd snapshots among the backups, each with the manifest beside it."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.backups.problems import BackupProblem, parse_backup_problem
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.services.backups.manifests import LARGEST_MANIFEST
from cluster.services.context import Cluster

ETCD_BACKUP_NAME = re.compile(r"etcd-\d{8}T\d{6}Z\.db\.zst")


@dataclass(frozen=True)
class EtcdBackup:
    """`size` is in bytes. `keys` and `revision` are those that a drill has read from a fresh etcd, started on
    the snapshot."""

    name: str
    made_at: datetime
    size: int
    sha256: str
    revision: int
    keys: int | None = None
    restored_at: datetime | None = None
    restore_seconds: float | None = None
    problem: BackupProblem | None = None
    copied_at: datetime | None = None
    copy_problem: BackupProblem | None = None


def list_etcd_backups(cluster: Cluster, actor: Actor) -> list[EtcdBackup]:
    """The snapshots, newest first."""
    require_administrator(actor)
    return read_etcd_backups(cluster.settings.backups)


def read_etcd_backups(folder: Path) -> list[EtcdBackup]:
    """The snapshots with a complete manifest, newest first."""
    found = [read_etcd_manifest(path) for path in folder.glob("etcd-*.db.zst.json")]
    whole = [backup for backup in found if backup is not None and (folder / backup.name).is_file()]
    return sorted(whole, key=lambda backup: backup.made_at, reverse=True)


def read_etcd_manifest(path: Path) -> EtcdBackup | None:
    """Returns None if it is not one of ours or cannot be read."""
    try:
        if path.stat().st_size > LARGEST_MANIFEST:
            return None
        return parse_etcd_manifest(path.name.removesuffix(".json"), json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def parse_etcd_manifest(name: str, data: dict[str, Any]) -> EtcdBackup | None:
    """Raises KeyError, TypeError, ValueError."""
    if not ETCD_BACKUP_NAME.fullmatch(name):
        return None
    made_at = datetime.fromisoformat(data["made_at"])
    restored, copied = data.get("restored_at"), data.get("copied_at")
    return EtcdBackup(
        name=name,
        made_at=made_at,
        size=int(data["size"]),
        sha256=str(data["sha256"]),
        revision=int(data["revision"]),
        keys=data.get("keys"),
        restored_at=datetime.fromisoformat(restored) if restored else None,
        restore_seconds=data.get("restore_seconds"),
        problem=parse_backup_problem(data.get("problem")),
        copied_at=datetime.fromisoformat(copied) if copied else None,
        copy_problem=parse_backup_problem(data.get("copy_problem")),
    )
