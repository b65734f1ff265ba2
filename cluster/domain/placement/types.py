"""Types of placement: its inputs (jobs to place, nodes, quotas, running jobs) and its two answers (placed, not placed).

Shares of a GPU and lending need no other types. A share is a unit of its own (its row has a slice), so it is
one more id in `NodeUnits.free`. A workspace that borrows has for that time a larger `WorkspaceQuota.limit`, and its
`RunningOnNode` will say that it can be called back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cluster.domain.queue.reasons import WaitingReason
from cluster.domain.queue.start_estimate import EstimateSource, StartEstimate
from cluster.domain.states import NodeState, UnitKind


@dataclass(frozen=True)
class JobToPlace:
    """A waiting job. `blocked_by` is a reason that was found before units were examined: such a job does not start
    and delays no other job.
    """

    job_id: int
    workspace_id: int
    units: int
    priority: int = 0
    """The priority. A higher one goes first within the workspace."""
    position: int = 0
    """The position. A lower one goes first among equal priorities."""
    blocked_by: WaitingReason | None = None
    seconds: float | None = None
    """The seconds for which it is expected to hold its units, from its time limit or from earlier runs. None:
    unknown.
    """
    limit_seconds: float | None = None
    """The seconds after which it is made to end, grace included. None: it may run for ever.

    Only this limit lets it start before a job with a reservation: an expectation is not certain.
    """
    since: datetime | None = None
    """The time at which it joined the line: it was submitted, or came back into it. None comes before all others."""
    estimate_source: EstimateSource | None = None
    """The origin of `seconds`."""
    shortest_seconds: float | None = None
    """Seconds of the shortest and the longest earlier run, if there were several."""
    longest_seconds: float | None = None
    grace_seconds: float = 0.0
    """Seconds of `limit_seconds` that come after its time limit."""


@dataclass(frozen=True)
class NodeUnits:
    """A node as placement sees it: `free` unit ids in the order in which they are given out."""

    node_id: int
    name: str
    state: NodeState
    kind: UnitKind
    free: tuple[int, ...]
    total: int
    """Working units, free or not."""
    fabric: str | None = None
    """Nodes with the same word reach each other over one InfiniBand fabric."""
    islands: Mapping[int, str | None] = field(default_factory=dict)
    """Unit id → island. Units of one island reach each other over one NVLink or PCIe switch."""
    since: datetime | None = None
    """The time since which the node is in its state; None if it is not known."""
    kept_out: Mapping[str, Any] | None = None
    """The reason why Kubernetes starts nothing on the node although its agent is well, as {code, data}."""

    @property
    def takes_jobs(self) -> bool:
        return self.state is NodeState.READY and self.kept_out is None


@dataclass(frozen=True)
class WorkspaceQuota:
    """The units that a workspace may hold during its term, and those that its live attempts hold now."""

    limit: int
    used: int
    last_turn_at: datetime | None = None
    """The time at which one of its jobs was last given units without `is_backfill`. The workspace has then used its
    turn and goes behind the workspaces that wait.
    """
    last_turn_attempt_id: int = 0
    """The id of that attempt. It distinguishes two turns of the same moment."""


@dataclass(frozen=True)
class RunningOnNode:
    """A job that holds units, and when it is expected to give them back (None: not known).

    A gang over several nodes is one entry for each of its nodes.
    """

    job_id: int
    workspace_id: int
    node_id: int
    units: int
    ends_at: datetime | None = None
    earliest_at: datetime | None = None
    """The earliest expected end, from the length of its shortest earlier run."""
    latest_at: datetime | None = None
    """The latest expected end: its time limit, or the length of its longest earlier run."""
    source: EstimateSource | None = None
    """The origin of `ends_at`."""


@dataclass(frozen=True)
class Placement:
    """The units that a job is given: all of them or none. `nodes` has one (node id, unit ids) for each node."""

    job_id: int
    nodes: tuple[tuple[int, tuple[int, ...]], ...]
    is_backfill: bool = False
    """The job passed the foremost job of its workspace without delaying it, so the workspace has not used its turn."""

    @property
    def node_id(self) -> int:
        """The first node; a gang's first rank runs there."""
        return self.nodes[0][0]

    @property
    def unit_ids(self) -> tuple[int, ...]:
        """The units of all nodes."""
        return tuple(unit for _, units in self.nodes for unit in units)


@dataclass(frozen=True)
class NotPlaced:
    job_id: int
    reason: WaitingReason
    outlook: StartEstimate = field(default_factory=StartEstimate)


PlacementDecision = Placement | NotPlaced
