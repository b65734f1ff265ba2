"""What the scheduler does every so many seconds besides placing and watching attempts."""

from collections.abc import Callable, Mapping
from functools import partial

import structlog

from cluster.files.safe_read import FileMissing, FileNotPlain
from cluster.services.alerts.notifier import notify_people
from cluster.services.audit.log_files import append_sealed_entries
from cluster.services.audit.seals import seal_entries
from cluster.services.backups.requests import request_nightly_backup
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.queue.totals import refresh_queue_totals
from cluster.services.repairs.offline_records import import_offline_records
from worker.backups.audit_anchors import log_seal
from worker.scheduling.cadence import PeriodicWork
from worker.scheduling.clock_watch import ClockWatch
from worker.scheduling.node_watch import NodeWatch
from worker.scheduling.usage_watch import watch_progress

log = structlog.get_logger()
Work = Callable[[HeldLease], object]


def periodic_work(cluster: Cluster, clocks: ClockWatch, nodes: NodeWatch) -> Mapping[PeriodicWork, Work]:
    """In the order in which a pass does it. Each may raise LeaseLost."""
    return {
        PeriodicWork.EXPIRY: partial(expire_leases_and_nodes, cluster, clocks, nodes),
        PeriodicWork.QUEUE_TOTALS: partial(refresh_queue_totals, cluster),
        PeriodicWork.PROGRESS: partial(watch_progress, cluster),
        PeriodicWork.OFFLINE_REPAIRS: lambda held: import_offline_repairs(cluster),
        PeriodicWork.AUDIT_SEALS: lambda held: seal_access_log(cluster),
        PeriodicWork.NIGHTLY_BACKUP: partial(request_backup, cluster, clocks),
        PeriodicWork.NOTIFICATIONS: partial(notify_people, cluster),
        PeriodicWork.CONFINEMENT: nodes.record_confinement,
        PeriodicWork.ORPHAN_RUNS: nodes.end_orphan_runs,
    }


def expire_leases_and_nodes(cluster: Cluster, clocks: ClockWatch, nodes: NodeWatch, held: HeldLease) -> None:
    """Expires the leases of operations and marks nodes that were silent for too long as lost."""
    if clocks.is_settled:
        requeue_stale_operations(cluster)
        nodes.mark_silent_nodes(held)


def import_offline_repairs(cluster: Cluster) -> None:
    """Imports the repairs that the console ran without the database as rows."""
    try:
        for run_id in import_offline_records(cluster):
            log.info("a repair that the console ran is read in", run=run_id)
    except OSError as error:
        log.warning("the console's records are not read in; trying again", error=str(error))


def seal_access_log(cluster: Cluster) -> None:
    """Seals the entries in the database; a disk that refuses the files of its days holds nothing else up."""
    seal_entries(cluster, log_seal)
    try:
        append_sealed_entries(cluster)
    except (OSError, FileMissing, FileNotPlain) as error:
        log.warning("the access log's files are not written; trying again", error=str(error))


def request_backup(cluster: Cluster, clocks: ClockWatch, held: HeldLease) -> None:
    if clocks.is_settled and (night := request_nightly_backup(cluster, held)) is not None:
        log.info("the nightly backup is asked for", operation=night.id)
