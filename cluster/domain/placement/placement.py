"""Decide which waiting jobs start now and on which units; every other job gets the reason why it waits.

All units or none, and a quota is never passed. The foremost job of each workspace that cannot start is
promised the first moment at which it fits: until then its units are given only to jobs that will be over, or
to those that leave enough. A later job may pass on those terms and on no others. A job that waits for
something else (data set, environment, term, somebody's hold, a node that is away) stands in nobody's way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.domain.placement.free_capacity import FreeCapacity
from cluster.domain.placement.queue_order import sort_queue
from cluster.domain.placement.scheduling_pass import SchedulingPass
from cluster.domain.placement.types import (
    JobToPlace,
    NodeUnits,
    NotPlaced,
    Placement,
    PlacementDecision,
    RunningOnNode,
    WorkspaceQuota,
)

__all__ = [
    "PlacementInput",
    "PlacementDecision",
    "JobToPlace",
    "NodeUnits",
    "Placement",
    "WorkspaceQuota",
    "RunningOnNode",
    "NotPlaced",
    "sort_queue",
    "place_jobs",
]


def place_jobs(
    heads: Sequence[JobToPlace],
    nodes: Sequence[NodeUnits],
    quotas: Mapping[int, WorkspaceQuota],
    running: Sequence[RunningOnNode],
    now: datetime,
    spread: bool = False,
) -> list[PlacementDecision]:
    """One decision per head, in the true order of the queue; the same input gives the same output.

    `can_spread`: the executor can run one job on several nodes.
    """
    look = SchedulingPass(FreeCapacity(nodes, quotas, running, now, spread))
    return [look.decide(head) for head in look.sort_by_turn(heads)]


@dataclass(frozen=True)
class PlacementInput:
    """Everything that placement looks at, at one moment."""

    jobs_to_place: Sequence[JobToPlace]
    nodes: Sequence[NodeUnits]
    quotas: Mapping[int, WorkspaceQuota]
    running: Sequence[RunningOnNode]
    now: datetime
    can_spread: bool = False

    def decide(
        self, heads: Sequence[JobToPlace] | None = None, quotas: Mapping[int, WorkspaceQuota] | None = None
    ) -> list[PlacementDecision]:
        """`jobs_to_place` and `quotas` instead of the own ones, for a job that is only asked about."""
        return place_jobs(
            self.jobs_to_place if heads is None else heads,
            self.nodes,
            self.quotas if quotas is None else quotas,
            self.running,
            self.now,
            self.can_spread,
        )
