"""Which waiting jobs start now, on which units; everybody else gets a reason (Q1-Q4).

All units or none, and a quota is never passed. The foremost job of each workspace that cannot start is
promised the first moment at which it fits: until then its units are given only to jobs that will be over, or
to those that leave enough. A later job may pass on those terms and on no others. A job that waits for
something else (data set, environment, term, somebody's hold, a node that is away) stands in nobody's way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.domain.board import Decision, Head, NodeUnits, Placed, Quota, Running, Waiting
from cluster.domain.look import Look
from cluster.domain.order import in_order
from cluster.domain.table import Table

__all__ = [
    "Board",
    "Decision",
    "Head",
    "NodeUnits",
    "Placed",
    "Quota",
    "Running",
    "Waiting",
    "in_order",
    "place",
]


def place(
    heads: Sequence[Head],
    nodes: Sequence[NodeUnits],
    quotas: Mapping[int, Quota],
    running: Sequence[Running],
    now: datetime,
    spread: bool = False,
) -> list[Decision]:
    """One decision per head, in the true order of the queue; the same input gives the same output.

    `spread`: the executor can run one job on several nodes.
    """
    look = Look(Table(nodes, quotas, running, now, spread))
    return [look.decide(head) for head in look.in_turn(heads)]


@dataclass(frozen=True)
class Board:
    """Everything that placement looks at, at one moment."""

    heads: Sequence[Head]
    nodes: Sequence[NodeUnits]
    quotas: Mapping[int, Quota]
    running: Sequence[Running]
    now: datetime
    spread: bool = False

    def decide(
        self, heads: Sequence[Head] | None = None, quotas: Mapping[int, Quota] | None = None
    ) -> list[Decision]:
        """`heads` and `quotas` instead of the own ones, for a job that is only asked about."""
        return place(
            self.heads if heads is None else heads,
            self.nodes,
            self.quotas if quotas is None else quotas,
            self.running,
            self.now,
            self.spread,
        )
