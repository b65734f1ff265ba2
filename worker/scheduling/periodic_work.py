"""The scheduler's periodic work besides placing and watching attempts."""

from collections.abc import Callable, Mapping
from functools import partial

from cluster.services.alerts.notifier import notify_people
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.notifications.messages import write_messages
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.queue.totals import refresh_queue_totals
from worker.adapters.workspace_sizes import WorkspaceSizes
from worker.scheduling import record_keeping
from worker.scheduling.cadence import PeriodicWork
from worker.scheduling.clock_watch import ClockWatch
from worker.scheduling.node_watch import NodeWatch
from worker.scheduling.usage import watch_progress

Work = Callable[[HeldLease], object]


def periodic_work(cluster: Cluster, clocks: ClockWatch, nodes: NodeWatch) -> Mapping[PeriodicWork, Work]:
    """Returns the work in the order in which a pass does it. Each may raise LeaseLost."""
    return {
        PeriodicWork.EXPIRY: partial(expire_leases_and_nodes, cluster, clocks, nodes),
        PeriodicWork.QUEUE_TOTALS: partial(refresh_queue_totals, cluster),
        PeriodicWork.PROGRESS: partial(watch_progress, cluster),
        PeriodicWork.WORKSPACE_SIZES: WorkspaceSizes(cluster).advance,
        PeriodicWork.OFFLINE_REPAIRS: lambda held: record_keeping.import_offline_repairs(cluster),
        PeriodicWork.AUDIT_SEALS: lambda held: record_keeping.seal_access_log(cluster),
        PeriodicWork.NIGHTLY_BACKUP: partial(record_keeping.request_backup, cluster, clocks),
        PeriodicWork.NIGHTLY_GPU_CHECKS: partial(record_keeping.request_gpu_checks, cluster, clocks),
        PeriodicWork.NOTIFICATIONS: partial(write_notifications, cluster),
        PeriodicWork.CONFINEMENT: nodes.record_confinement,
        PeriodicWork.ORPHAN_RUNS: nodes.end_orphan_runs,
    }


def write_notifications(cluster: Cluster, held: HeldLease) -> None:
    """Writes messages about people's own jobs and workspaces, then those about alerts. A task worker sends them."""
    write_messages(cluster, held)
    notify_people(cluster, held)


def expire_leases_and_nodes(cluster: Cluster, clocks: ClockWatch, nodes: NodeWatch, held: HeldLease) -> None:
    """Expires the leases of operations and marks nodes that were silent for too long as lost."""
    if clocks.is_settled:
        requeue_stale_operations(cluster)
        nodes.mark_silent_nodes(held)
