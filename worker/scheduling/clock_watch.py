"""Detects that the clock was set, so that nothing expires because of it."""

from collections.abc import Callable

import structlog

from cluster.domain.clock_jumps import ClockJumpDetector
from cluster.services.context import Cluster
from cluster.services.leases import SCHEDULER_LEASE_DURATION, HeldLease
from cluster.services.nodes.lost_nodes import correct_future_heartbeats

log = structlog.get_logger()


class ClockWatch:
    """`steady` is a clock that nobody sets, in seconds."""

    def __init__(self, cluster: Cluster, steady: Callable[[], float]) -> None:
        self.cluster = cluster
        self.steady = steady
        self.detector = ClockJumpDetector(cluster.clock(), steady())

    def check(self, held: HeldLease) -> None:
        """After a jump of the clock, gives all holders of leases the time of one lease to report again. Raises
        LeaseLost.
        """
        self.detector = self.detector.observe(self.cluster.clock(), self.steady(), SCHEDULER_LEASE_DURATION)
        if self.detector.jump:
            log.warning("the clock was set", seconds=self.detector.jump.total_seconds())
            correct_future_heartbeats(self.cluster, held)

    @property
    def is_settled(self) -> bool:
        """Whether the clock is settled. It is not if it was set a moment ago, because it may be corrected again."""
        return self.detector.is_settled
