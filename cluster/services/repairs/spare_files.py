"""Lists what can be deleted to free disk space, with the reason for each, and deletes what a repair's preview listed.

Only our own folders are looked at, and nothing there that a row still names.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound
from cluster.services.backups.pre_restore_copies import PRE_RESTORE_PREFIX
from cluster.services.context import Cluster
from cluster.services.repairs.reclaimable_files import old_versions
from cluster.services.repairs.spare import ReclaimablePath, delete_reclaimable_path, modified_at
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun

COPIES_KEPT = 2
"""Copies of the database from before migrations; the newest stay."""
LOGS_KEPT_FOR = timedelta(days=90)


def list_reclaimable_paths(cluster: Cluster) -> list[ReclaimablePath]:
    """Largest first; reads the disk, changes nothing."""
    now = cluster.clock()
    with cluster.store.read() as session:
        named = read_open_operation_ids(session)
    found = [*old_database_copies(cluster), *old_logs(cluster, now, named), *old_versions(cluster)]
    return sorted(found, key=lambda leftover: (-leftover.size, str(leftover.path)))


def read_open_operation_ids(session: Session) -> set[int]:
    """Operations that have not ended: their logs are being written."""
    return set(session.scalars(select(Operation.id).where(Operation.ended_at.is_(None))))


def old_database_copies(cluster: Cluster) -> Iterator[ReclaimablePath]:
    """Copies of the database that migrations made, all but the newest; those of restores go with the backups."""
    found = (cluster.settings.state_dir / "database").glob("before-*.db")
    copies = sorted((path for path in found if not path.name.startswith(PRE_RESTORE_PREFIX)), key=modified_at)
    for path in copies[:-COPIES_KEPT]:
        yield ReclaimablePath(path, path.stat().st_size, "leftover.database_copy")


def operation_of_log(path: Path) -> int | None:
    """The operation that a log belongs to, by its name."""
    digits = "".join(sign for sign in path.stem if sign.isdigit())
    return int(digits) if digits else None


def old_logs(cluster: Cluster, now: datetime, still: set[int]) -> Iterator[ReclaimablePath]:
    for path in sorted((cluster.settings.state_dir / "log").glob("operation-*.log")):
        if modified_at(path) < (now - LOGS_KEPT_FOR).timestamp() and operation_of_log(path) not in still:
            yield ReclaimablePath(path, path.stat().st_size, "leftover.log")


def delete_reclaimable_of_run(cluster: Cluster, run_id: int) -> list[ReclaimablePath]:
    """Deletes what the run's forecast listed and what is still of no use; returns it. Raises NotFound."""
    with cluster.store.read() as session:
        run = session.get(RepairRun, run_id)
    if run is None:
        raise NotFound("repair", run_id)
    listed = {path for path, _ in run.listed}
    gone = [leftover for leftover in list_reclaimable_paths(cluster) if str(leftover.path) in listed]
    for leftover in gone:
        delete_reclaimable_path(leftover.path)
    return gone
