"""Restore a backup: load it into a scratch database, adapt it to today's installation, then replace the database in
one step.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.errors import Refused
from cluster.failpoints import external_call
from cluster.services.backups.manifests import BACKUP_NAME, manifest_path, read_backup_manifest
from cluster.services.backups.pre_restore_copies import PRE_RESTORE_PREFIX, pre_restore_name
from cluster.services.backups.restored_database import (
    RestoreCounts,
    RestoredBackup,
    prepare_restored_database,
)
from cluster.settings import Settings
from cluster.store.migrate import known_revisions, upgrade_database
from worker.backups.audit_anchors import anchors_in_backups
from worker.backups.database_contents import check_invariants
from worker.backups.databases.backup_databases import open_backup_database
from worker.backups.databases.protocols import BackupDatabase
from worker.backups.dump import delete_unfinished, hold_backup_lock, write_backup
from worker.backups.dump_files import read_manifest_values
from worker.backups.errors import BackupBroken, disk_full_as_unavailable
from worker.backups.scratch_cluster import open_scratch_cluster
from worker.backups.scratch_restore import check_database_kind, restore_to_scratch

Now = Callable[[], datetime]


@dataclass(frozen=True)
class RestoreResult:
    """`pre_restore_copy` is the path of the replaced database. None if there was none."""

    made_at: datetime
    rows: int
    counts: RestoreCounts
    pre_restore_copy: Path | None


def restore_backup(settings: Settings, file: Path, now: Now, holds: bool = True) -> RestoreResult:
    """Raises Refused for a file that is no backup, damaged, of another kind, too old or too new; Unavailable if
    something is missing.

    If it is killed, the database is either the previous one or the restored one, complete and adapted.
    """
    manifest, database = read_own_manifest(file), open_backup_database(settings)
    with hold_backup_lock(settings), disk_full_as_unavailable(settings.backups):
        delete_unfinished(settings)
        database.check_unused()
        try:
            check_database_kind(settings, manifest)
            with restore_to_scratch(settings, file, manifest, is_to_stay=True) as scratch:
                settled = settle_scratch(settings, scratch.url, manifest, now, holds)
                written = dump_replaced_database(settings, database, now())
                name = pre_restore_name(settings, now())
                with external_call("backups.take_over"):
                    kept = database.replace_with(scratch, name)
        except BackupBroken as broken:
            raise Refused("file", "restore.damaged", name=file.name, problem=broken.as_data()) from broken
    made_at = datetime.fromisoformat(manifest["made_at"])
    return RestoreResult(made_at, sum(manifest["rows"].values()), settled, kept or written)


def read_own_manifest(file: Path) -> dict[str, Any]:
    """The manifest beside the file. Raises Refused."""
    if not file.is_file():
        raise Refused("file", "restore.no_file", file=str(file))
    if not BACKUP_NAME.fullmatch(file.name):
        raise Refused("file", "restore.foreign", name=file.name)
    path = manifest_path(file.parent, file.name)
    if read_backup_manifest(path) is None:
        raise Refused("file", "restore.no_manifest", manifest=path.name)
    manifest = read_manifest_values(path)
    check_revision_known(file.name, manifest["revision"])
    return manifest


def check_revision_known(name: str, revision: str) -> None:
    """Raises Refused if no migration of this version leads on from the backup's revision."""
    known = known_revisions()
    if revision in known:
        return
    if revision < known[0]:
        raise Refused("file", "restore.too_old", name=name, found=revision, oldest=known[0])
    raise Refused("file", "restore.newer", name=name, found=revision, known=known[-1])


def settle_scratch(
    settings: Settings, url: str, manifest: dict[str, Any], now: Now, holds: bool
) -> RestoreCounts:
    upgrade_database(url)
    made_at = datetime.fromisoformat(manifest["made_at"])
    origin = RestoredBackup(manifest["name"], manifest["sha256"], made_at, find_last_job_on_disk(settings))
    anchors = anchors_in_backups(settings)
    with open_scratch_cluster(settings, url, now) as scratch:
        settled = prepare_restored_database(scratch, origin, anchors, holds)
        with scratch.store.read_columns() as connection:
            check_invariants(connection)
    return settled


def find_last_job_on_disk(settings: Settings) -> int:
    """The highest number of a job that has a folder in the storage. New jobs get higher numbers."""
    folders = settings.storage_dir.glob("workspaces/*/jobs/*")
    return max((int(each.name) for each in folders if re.fullmatch("[0-9]{1,9}", each.name)), default=0)


def dump_replaced_database(settings: Settings, database: BackupDatabase, now: datetime) -> Path | None:
    """Writes the replaced data as a backup if they would be lost. Raises Unavailable if it is no database of ours."""
    if database.keeps_replaced_data():
        return None
    return settings.backups / str(write_backup(settings, now, None, prefix=PRE_RESTORE_PREFIX)["name"])
