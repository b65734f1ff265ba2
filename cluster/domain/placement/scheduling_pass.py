"""Walk the queue once in its order: each job is placed, or gets the reason why it waits and an estimate of its start.

A job gets all of its units or none, and a quota is never exceeded. The foremost job of each workspace that cannot start
gets a reservation from the first moment at which it fits: until then its units are given only to jobs that end before,
or to those that leave enough units. A later job may overtake it on these terms and on no others. A job that waits for
something else (dataset, environment, term, a person's hold, a node that is away) delays no other job.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf

from cluster.domain.placement.availability import UNKNOWN_END, moment_as_datetime
from cluster.domain.placement.free_capacity import NO_QUOTA, FreeCapacity
from cluster.domain.placement.gang_placement import NodeUnitCount
from cluster.domain.placement.infeasible import infeasible_reason
from cluster.domain.placement.queue_order import sort_queue
from cluster.domain.placement.types import (
    JobToPlace,
    NodeUnits,
    NotPlaced,
    Placement,
    PlacementDecision,
    RunningOnNode,
    WorkspaceQuota,
)
from cluster.domain.placement.what_if import suggest_changes
from cluster.domain.queue.reasons import (
    AheadInQueue,
    NotEnoughUnits,
    NotEnoughUnitsTogether,
    QuotaInUse,
    ReservedForAnother,
    WaitingReason,
)
from cluster.domain.queue.start_estimate import UNKNOWN_START, StartEstimate

JobShape = tuple[int, float | None]
"""Units and time limit, which decide whether a job fits."""


class SchedulingPass:
    """A shape that was refused once is refused at once for the rest of the pass, because capacity only shrinks during
    it."""

    def __init__(self, table: FreeCapacity, suggests_to: int | None = None) -> None:
        """`suggests_to` is a workspace whose jobs behind others also learn what would let them start now."""
        self.capacity = table
        self.suggests_to = suggests_to
        table.clear_reservations()
        self.lines: dict[int, list[int]] = {}
        """Waiting jobs per workspace, the foremost first."""
        self.workspaces_with_reservation: set[int] = set()
        """Workspaces whose first waiting job has a reservation, so that later ones can start without delaying it."""
        self.refused_shapes: set[tuple[int, JobShape]] = set()
        """(workspace, shape): the quota of the workspace or the free units of all nodes are too few for it."""
        self.shapes_without_room: set[JobShape] = set()
        self.infeasible_reasons: dict[tuple[int, int], WaitingReason | None] = {}

    def sort_by_turn(self, heads: Sequence[JobToPlace]) -> list[JobToPlace]:
        return sort_queue(heads, self.capacity.quotas, self.can_ever_start)

    def can_ever_start(self, head: JobToPlace) -> bool:
        return head.blocked_by is None and not self.infeasible_reason(head)

    def decide(self, head: JobToPlace) -> PlacementDecision:
        if head.blocked_by:
            return NotPlaced(head.job_id, head.blocked_by)
        never = self.infeasible_reason(head)
        if never:
            return NotPlaced(head.job_id, never)
        placed = self._start(head)
        if placed:
            return placed
        line = self.lines.setdefault(head.workspace_id, [])
        is_behind = bool(line)
        suggestion = self._suggestion(head) if not is_behind or self._suggests_to(head) else UNKNOWN_START
        line.append(head.job_id)
        if is_behind:
            ahead = len(line) - 1
            behind = replace(suggestion, ahead=ahead, first_ahead=line[0])
            return NotPlaced(head.job_id, AheadInQueue(ahead, line[0]), behind)
        reason = self._why_not_now(head)
        return NotPlaced(head.job_id, reason, self._outlook(head, suggestion, *self._promise(head)))

    def start(self, head: JobToPlace) -> Placement | None:
        """`decide` without a reason: None if the job does not start."""
        if not self.can_ever_start(head):
            return None
        placed = self._start(head)
        if not placed:
            line = self.lines.setdefault(head.workspace_id, [])
            line.append(head.job_id)
            if len(line) == 1:
                self._promise(head)
        return placed

    def infeasible_reason(self, head: JobToPlace) -> WaitingReason | None:
        quota = self.capacity.quotas.get(head.workspace_id, NO_QUOTA).limit
        key = (head.units, quota)
        if key not in self.infeasible_reasons:
            self.infeasible_reasons[key] = infeasible_reason(
                head, self.capacity.nodes, quota, self.capacity.can_spread
            )
        return self.infeasible_reasons[key]

    def can_backfill(self, head: JobToPlace) -> bool:
        """Whether the job is the first of its workspace, or the first one has a reservation that it cannot delay."""
        return not self.lines.get(head.workspace_id) or head.workspace_id in self.workspaces_with_reservation

    def _start(self, head: JobToPlace) -> Placement | None:
        shape = (head.units, head.limit_seconds)
        if (head.workspace_id, shape) in self.refused_shapes or not self.can_backfill(head):
            return None
        if shape not in self.shapes_without_room and self.capacity.share(head.workspace_id).fits(*shape):
            nodes = self.capacity.choose_nodes(*shape)
            if nodes:
                return self.capacity.take_units(head, nodes, passes=bool(self.lines.get(head.workspace_id)))
            self.shapes_without_room.add(shape)
        self.refused_shapes.add((head.workspace_id, shape))
        return None

    def _suggests_to(self, head: JobToPlace) -> bool:
        return head.workspace_id == self.suggests_to and self.can_backfill(head)

    def _suggestion(self, head: JobToPlace) -> StartEstimate:
        return suggest_changes(self.capacity, head)

    def _why_not_now(self, head: JobToPlace) -> WaitingReason:
        table = self.capacity
        share, ready = table.share(head.workspace_id), list(table.ready.values())
        # A master that runs no jobs has no units, and so none of any kind.
        kind = next((node.kind for node in ready if node.total), ready[0].kind)
        if share.free < head.units:
            limit = table.quotas[head.workspace_id].limit
            return QuotaInUse(limit, limit - share.free, head.units, kind)
        free = {node_id: len(units) for node_id, units in table.free.items()}
        if table.can_spread and sum(free.values()) < head.units:
            return NotEnoughUnitsTogether(head.units, sum(free.values()), len(ready), kind)
        most = max(ready, key=lambda node: (free[node.node_id], node.total, -node.node_id))
        if not table.can_spread and free[most.node_id] < head.units:
            return NotEnoughUnits(head.units, free[most.node_id], most.name, most.kind, len(ready))
        kept = [node for node in ready if table.node_units[node.node_id].reservations]
        node = max(kept, key=lambda node: (free[node.node_id], -node.node_id))
        return ReservedForAnother(table.node_units[node.node_id].reservations[0].job_id, node.name)

    def _promise(self, head: JobToPlace) -> tuple[float, list[NodeUnitCount]]:
        """Reserves units from the first moment at which they are free; the moment is infinite if it is unknown."""
        table, share = self.capacity, self.capacity.share(head.workspace_id)
        moment, nodes = table.earliest_fit_for(head.units, share.earliest_with(head.units), head.workspace_id)
        if moment < inf:
            is_until_nobody_knows = share.free < head.units and moment >= UNKNOWN_END
            # Other workspaces leave no units idle for a job whose own workspace frees its quota at an unknown moment.
            table.reserve(head, moment, [] if is_until_nobody_knows else nodes)
            self.workspaces_with_reservation.add(head.workspace_id)
        return moment, nodes

    def _outlook(
        self, head: JobToPlace, suggestion: StartEstimate, moment: float, nodes: list[NodeUnitCount]
    ) -> StartEstimate:
        run = self.capacity.job_ending_at(moment, head.workspace_id, nodes) if moment < inf else None
        return replace(
            suggestion,
            freed_by=run.job_id if run else None,
            starts_at=moment_as_datetime(moment, self.capacity.now),
            starts_on_node=nodes[0][0].name if run or moment < UNKNOWN_END else None,
            earliest_at=run.earliest_at if run else None,
            latest_at=run.latest_at if run else None,
            source=run.source if run else None,
        )


def place_jobs(
    heads: Sequence[JobToPlace],
    nodes: Sequence[NodeUnits],
    quotas: Mapping[int, WorkspaceQuota],
    running: Sequence[RunningOnNode],
    now: datetime,
    spread: bool = False,
    suggests_to: int | None = None,
) -> Iterator[PlacementDecision]:
    """Yields one decision per job in the order of the queue. The same input gives the same output.

    `spread`: the executor can run one job on several nodes.
    """
    look = SchedulingPass(FreeCapacity(nodes, quotas, running, now, spread), suggests_to)
    return (look.decide(head) for head in look.sort_by_turn(heads))


@dataclass(frozen=True)
class PlacementInput:
    """The input of placement at one moment."""

    jobs_to_place: Sequence[JobToPlace]
    nodes: Sequence[NodeUnits]
    quotas: Mapping[int, WorkspaceQuota]
    running: Sequence[RunningOnNode]
    now: datetime
    can_spread: bool = False

    def decide(
        self, heads: Sequence[JobToPlace] | None = None, quotas: Mapping[int, WorkspaceQuota] | None = None
    ) -> list[PlacementDecision]:
        """Decides on the own jobs, or on `heads` with `quotas` for a job that is only previewed."""
        return list(
            place_jobs(
                self.jobs_to_place if heads is None else heads,
                self.nodes,
                self.quotas if quotas is None else quotas,
                self.running,
                self.now,
                self.can_spread,
            )
        )

    def decide_line(self, workspace_id: int) -> Iterator[PlacementDecision]:
        """Yields one decision after the other, so that the caller can pause. All jobs of the workspace learn what
        would let them start now, also those behind others.
        """
        return place_jobs(
            self.jobs_to_place,
            self.nodes,
            self.quotas,
            self.running,
            self.now,
            self.can_spread,
            workspace_id,
        )
