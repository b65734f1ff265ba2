"""Makes a backup, proves it by a restore, looks at the older ones again, and lets go of what is surplus."""

from typing import Any

from cluster.crash_points import outside
from cluster.domain.errors import Unavailable
from cluster.services.audit_seals import read_anchor, seal_entries
from cluster.services.context import Cluster
from cluster.services.operations import fail_in, finish_in
from cluster.store.operations import Operation
from worker.backups import copies, dump, etcd, keep
from worker.backups.open_page import open_pages
from worker.backups.restore import prove_newest
from worker.tasks.reports import Reporter

WRITE, PROVE, LOOK, TIDY, COPY = "backup_write", "backup_prove", "backup_look", "backup_tidy", "backup_copy"
ETCD = "backup_etcd"
WEIGHTS = {WRITE: 4.0, PROVE: 5.0, LOOK: 1.0, TIDY: 0.5, COPY: 2.0}
WITH_KUBERNETES = {WRITE: 4.0, PROVE: 5.0, LOOK: 1.0, ETCD: 2.0, TIDY: 0.5, COPY: 2.0}


def run_backup(cluster: Cluster, operation: Operation) -> None:
    """May run twice: each makes a backup of its own, and the next one clears what a killed one left.

    Raises Conflict, Unavailable. A backup that is broken deletes nothing, and neither does a damaged older one hide;
    an audit that is no longer what was sealed is told last, for the backup of it is good.
    """
    settings = cluster.settings
    reporter = Reporter(cluster, operation, WITH_KUBERNETES if settings.etcd_snapshots else WEIGHTS)
    reporter.begin()
    reporter.tell(WRITE, 0.0)
    dump.check_room(settings)
    seal_entries(cluster)
    with outside("backups.write"):
        dump.make_backup(settings, cluster.clock(), read_anchor(cluster))
    reporter.tell(PROVE, 0.0)
    with outside("backups.prove"):
        made = prove_newest(settings, cluster.clock(), open_pages)
    reporter.tell(LOOK, 0.0)
    with outside("backups.look"):
        damaged = keep.mark_damaged(settings)
    if settings.etcd_snapshots:
        reporter.tell(ETCD, 0.0)
    no_etcd = back_up_etcd(cluster)
    if made["problem"]:
        raise Unavailable("backup.broken", name=made["name"], problem=made["problem"])
    reporter.tell(TIDY, 0.0)
    with outside("backups.tidy"):
        keep.delete_surplus(settings)
        keep.delete_put_aside(settings, cluster.clock())
    reporter.tell(COPY, 0.0)
    not_copied = copy_elsewhere(cluster)
    if damaged:
        raise Unavailable("backup.damaged", names=damaged)
    if made["audit"]:
        raise Unavailable(made["audit"]["code"], **made["audit"]["data"])
    for problem in (no_etcd, not_copied):
        if problem is not None:
            raise problem
    with cluster.store.write() as session:
        finish_in(session, operation.id, operation.fence, cluster.clock())
    cluster.bell.ring("operations", operation.id)


def back_up_etcd(cluster: Cluster) -> Unavailable | None:
    """What went wrong with it: the database is backed up and copied all the same."""
    try:
        with outside("backups.etcd"):
            etcd.keep_etcd(cluster.settings, cluster.clock())
    except Unavailable as problem:
        return problem
    return None


def copy_elsewhere(cluster: Cluster) -> Unavailable | None:
    """What went wrong with it, for it waits until worse things have been said."""
    try:
        with outside("backups.copy"):
            copies.copy_proved(cluster.settings, cluster.clock)
    except Unavailable as problem:
        return problem
    return None


def record_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    with cluster.store.write() as session:
        fail_in(session, operation.id, operation.fence, cluster.clock(), code, data)
    cluster.bell.ring("operations", operation.id)
