"""Runs the nightly backup: writes it, restores it as a drill, checks the older ones, prunes and copies."""

from cluster.domain.errors import Unavailable
from cluster.failpoints import external_call
from cluster.services.audit.recorded_seals import find_lost_seal, note_lost_seal, read_recorded_seals
from cluster.services.audit.seals import read_newest_seal, seal_entries
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import finish_claimed_operation
from cluster.store.operations import Operation
from worker.backups import dump, etcd, offsite_copies, retention
from worker.backups.audit_anchors import seal_recorder
from worker.backups.drill import drill_newest_backup
from worker.backups.smoke_test import run_smoke_test
from worker.tasks.step_progress import StepProgress

STEP_WRITE, STEP_DRILL, STEP_CHECK_OLDER, STEP_PRUNE, STEP_COPY = (
    "backup_write",
    "backup_prove",
    "backup_look",
    "backup_tidy",
    "backup_copy",
)
STEP_ETCD = "backup_etcd"
WEIGHTS = {STEP_WRITE: 4.0, STEP_DRILL: 5.0, STEP_CHECK_OLDER: 1.0, STEP_PRUNE: 0.5, STEP_COPY: 2.0}
WITH_KUBERNETES = {
    STEP_WRITE: 4.0,
    STEP_DRILL: 5.0,
    STEP_CHECK_OLDER: 1.0,
    STEP_ETCD: 2.0,
    STEP_PRUNE: 0.5,
    STEP_COPY: 2.0,
}


def run_backup(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice: each run makes a backup of its own, and removes the files that a killed one left.

    Raises Conflict, Unavailable. After a broken backup nothing is deleted. A damaged older backup is reported too. An
    audit that no longer matches its seals is reported last, because its backup is good.
    """
    settings = cluster.settings
    reporter = StepProgress(cluster, operation, WITH_KUBERNETES if settings.etcd_snapshots else WEIGHTS)
    reporter.start()
    reporter.report(STEP_WRITE, 0.0)
    dump.check_backup_space(settings)
    lost = note_lost_seal(cluster) or find_lost_seal(cluster, read_recorded_seals(settings))
    seal_entries(cluster, seal_recorder(settings))
    with external_call("backups.write"):
        dump.make_backup(settings, cluster.clock(), read_newest_seal(cluster))
    reporter.report(STEP_DRILL, 0.0)
    with external_call("backups.prove"):
        made = drill_newest_backup(settings, cluster.clock(), run_smoke_test)
    reporter.report(STEP_CHECK_OLDER, 0.0)
    with external_call("backups.look"):
        damaged = retention.mark_damaged(settings)
    if settings.etcd_snapshots:
        reporter.report(STEP_ETCD, 0.0)
    no_etcd = back_up_etcd(cluster)
    if made["problem"]:
        raise Unavailable("backup.broken", name=made["name"], problem=made["problem"])
    reporter.report(STEP_PRUNE, 0.0)
    with external_call("backups.tidy"):
        retention.delete_surplus_backups(settings)
        retention.delete_pre_restore_copies(settings, cluster.clock())
    reporter.report(STEP_COPY, 0.0)
    not_copied = copy_offsite(cluster)
    if damaged:
        raise Unavailable("backup.damaged", names=damaged)
    if lost is not None:
        raise Unavailable(lost.code, **lost.data)
    if made["audit"]:
        raise Unavailable(made["audit"]["code"], **made["audit"]["data"])
    for problem in (no_etcd, not_copied):
        if problem is not None:
            raise problem
    finish_claimed_operation(cluster, operation)


def back_up_etcd(cluster: Cluster) -> Unavailable | None:
    """The problem of the backup. The database is backed up and copied all the same."""
    try:
        with external_call("backups.etcd"):
            etcd.back_up_etcd_snapshot(cluster.settings, cluster.clock())
    except Unavailable as problem:
        return problem
    return None


def copy_offsite(cluster: Cluster) -> Unavailable | None:
    """The problem of the backup, which is reported after worse ones."""
    try:
        with external_call("backups.copy"):
            offsite_copies.copy_backups_offsite(cluster.settings, cluster.clock)
    except Unavailable as problem:
        return problem
    return None
