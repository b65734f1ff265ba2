"""Lists what can be deleted to free disk space, each path with its size and reason, and deletes what a repair listed.

Only names that we give in our own folders are considered, and only if no row refers to them.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound
from cluster.services.backups.pre_restore_copies import PRE_RESTORE_PREFIX
from cluster.services.context import Cluster
from cluster.services.repairs.reclaimable_path import (
    ReclaimablePath,
    delete_reclaimable_path,
    modified_at,
)
from cluster.services.repairs.superseded_versions import old_versions
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun

COPIES_KEPT = 2
"""The number of copies from before migrations that are kept, the newest ones."""

LOGS_KEPT_FOR = timedelta(days=90)


def list_reclaimable_paths(cluster: Cluster) -> list[ReclaimablePath]:
    """The paths, largest first. The disk is read and not changed."""
    now = cluster.clock()
    with cluster.store.read() as session:
        named = read_open_operation_ids(session)
    found = [*old_database_copies(cluster), *old_logs(cluster, now, named), *old_versions(cluster)]
    return sorted(found, key=lambda leftover: (-leftover.size, str(leftover.path)))


def read_open_operation_ids(session: Session) -> set[int]:
    """The operations that have not ended, whose logs are still written."""
    return set(session.scalars(select(Operation.id).where(Operation.ended_at.is_(None))))


def old_database_copies(cluster: Cluster) -> Iterator[ReclaimablePath]:
    """Copies of the database that migrations made, except the newest. Copies of restores are deleted with the
    backups.
    """
    found = (cluster.settings.state_dir / "database").glob("before-*.db")
    copies = sorted((path for path in found if not path.name.startswith(PRE_RESTORE_PREFIX)), key=modified_at)
    for path in copies[:-COPIES_KEPT]:
        yield ReclaimablePath(path, path.stat().st_size, "leftover.database_copy")


def operation_of_log(path: Path) -> int | None:
    """The operation whose log has this name."""
    digits = "".join(sign for sign in path.stem if sign.isdigit())
    return int(digits) if digits else None


def old_logs(cluster: Cluster, now: datetime, still: set[int]) -> Iterator[ReclaimablePath]:
    for path in sorted((cluster.settings.state_dir / "log").glob("operation-*.log")):
        if modified_at(path) < (now - LOGS_KEPT_FOR).timestamp() and operation_of_log(path) not in still:
            yield ReclaimablePath(path, path.stat().st_size, "leftover.log")


def delete_reclaimable_of_run(cluster: Cluster, run_id: int) -> list[ReclaimablePath]:
    """Deletes what the run's preview listed and what is still reclaimable; returns it. Raises NotFound."""
    with cluster.store.read() as session:
        run = session.get(RepairRun, run_id)
    if run is None:
        raise NotFound("repair", run_id)
    listed = {path for path, _ in run.reclaimable_paths}
    gone = [leftover for leftover in list_reclaimable_paths(cluster) if str(leftover.path) in listed]
    for leftover in gone:
        delete_reclaimable_path(leftover.path)
    return gone
