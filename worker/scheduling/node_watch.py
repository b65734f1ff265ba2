"""Watches nodes: marks silent ones lost, ends orphan runs before recovered ones return to service, and records what
confines jobs here."""

from collections.abc import Callable

import structlog

from cluster.services.context import Cluster
from cluster.services.jobs.live_attempts import list_live_attempts
from cluster.services.leases import HeldLease
from cluster.services.nodes.confinement import record_confinement_features
from cluster.services.nodes.executor_outage import record_executor_outage
from cluster.services.nodes.lost_nodes import (
    list_recovered_nodes,
    mark_silent_nodes_lost,
    return_to_service,
)
from worker.adapters.host import read_host_name
from worker.executors.contract import Executor, ExecutorUnreachable
from worker.executors.process import ProcessExecutor

log = structlog.get_logger()


class NodeWatch:
    """`request_pass` asks the scheduler for another pass, after a node was lost or has recovered."""

    def __init__(self, cluster: Cluster, executor: Executor, request_pass: Callable[[], object]) -> None:
        self.cluster = cluster
        self.executor = executor
        self.request_pass = request_pass

    def mark_silent_nodes(self, held: HeldLease) -> None:
        """Raises LeaseLost."""
        for node_id in mark_silent_nodes_lost(self.cluster, held):
            log.warning("a node stayed silent and is given up", node=node_id)
            self.request_pass()

    def end_orphan_runs(self, held: HeldLease) -> None:
        """Ends orphan runs, and returns lost nodes that report again to service once none is left. Raises LeaseLost."""
        recovered = list_recovered_nodes(self.cluster)
        try:
            ended = end_orphan_runs(self.cluster, self.executor)
        except ExecutorUnreachable as silence:
            log.warning("the executor does not answer", code=silence.code, **silence.data)
            record_executor_outage(self.cluster, held, silence.code, silence.data)
            return
        record_executor_outage(self.cluster, held, None, {})
        if ended == 0 and recovered:
            return_to_service(self.cluster, held, recovered)
            log.info("lost nodes are back", nodes=recovered)
            self.request_pass()

    def record_confinement(self, held: HeldLease) -> None:
        """Raises LeaseLost."""
        features = None
        if isinstance(self.executor, ProcessExecutor):
            features = self.executor.read_confinement(self.cluster.settings.job_ids.uid_range)
        if record_confinement_features(self.cluster, held, read_host_name(), features):
            log.info("what confines jobs here", powers=features)


def end_orphan_runs(cluster: Cluster, executor: Executor) -> int:
    """Ends the runs without a live attempt, such as those after a restore, and returns their number.

    The runs are listed before the rows are read. Each run had its row first, so a run that another scheduler has just
    started never counts as an orphan. Raises ExecutorUnreachable.
    """
    runs = executor.list_running()
    known = {(attempt.job_id, attempt.number) for attempt in list_live_attempts(cluster)}
    orphans = [run for run in runs if (run.job, run.attempt) not in known]
    for run in orphans:
        log.warning("an orphan run is ended", job=run.job, attempt=run.attempt)
        executor.kill(run.handle)
    executor.remove_ended_except(known)
    return len(orphans)
