"""What the scheduler writes about the queue, written at once: for tests of what pages, REST and command then read."""

from datetime import timedelta

from cluster.services.context import Cluster
from cluster.services.leases import acquire_lease
from cluster.services.placement.snapshot import read_placement_snapshot
from worker.scheduling.queue_reporter import QueueReporter, waiting_lines


def report_queue(cluster: Cluster) -> None:
    """As after a pass that started nothing, with the forecasts of all lines done."""
    held = acquire_lease(cluster, "reports of a test", "a test", timedelta(hours=1))
    assert held is not None
    reporter = QueueReporter(cluster, lambda: 0.0)
    with cluster.store.read() as session:
        snapshot = read_placement_snapshot(cluster, session)
    reporter.note(snapshot)
    while reporter.forecast or reporter.next_line(waiting_lines(snapshot), 0.0) is not None:
        reporter.advance_forecast(snapshot, 0.0)
    reporter.write(held, snapshot)
