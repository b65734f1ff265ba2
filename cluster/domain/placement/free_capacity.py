"""Free units of all nodes and quotas during one scheduling pass, and which of them are reserved for waiting jobs."""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import heapify, heapreplace
from math import inf

from cluster.domain.placement.availability import NO_JOB, PlacementClock, UnitAvailability, availability_of
from cluster.domain.placement.gang_placement import NodeOffer, NodeUnitCount, choose_nodes, choose_units
from cluster.domain.placement.types import JobToPlace, NodeUnits, Placement, RunningOnNode, WorkspaceQuota

NO_QUOTA = WorkspaceQuota(0, 0)


class FreeCapacity:
    def __init__(
        self,
        nodes: Sequence[NodeUnits],
        quotas: Mapping[int, WorkspaceQuota],
        running: Sequence[RunningOnNode],
        now: datetime,
        spread: bool,
    ) -> None:
        self.now, self.quotas, self.can_spread = now, quotas, spread
        self.clock = PlacementClock(now.timestamp())
        self.nodes = sorted(nodes, key=lambda node: node.node_id)
        self.ready = {node.node_id: node for node in self.nodes if node.takes_jobs}
        self.free = {node_id: list(node.free) for node_id, node in self.ready.items()}
        self.running_by_workspace: dict[int, list[RunningOnNode]] = {}
        on_node: dict[int, list[RunningOnNode]] = {}
        for run in running:
            on_node.setdefault(run.node_id, []).append(run)
            self.running_by_workspace.setdefault(run.workspace_id, []).append(run)
        self.node_units = {
            node_id: availability_of(self.clock, node.total, len(node.free), on_node.get(node_id, ()))
            for node_id, node in self.ready.items()
        }
        self.workspace_units: dict[int, UnitAvailability] = {}
        """Workspace id → the units that it may still take of its quota."""
        self.reserved: list[UnitAvailability] = []
        self.earliest_fit: dict[int, list[tuple[float, int, int]]] = {}
        """Number of units → a heap of (first moment, size, node). Within a pass moments only get later.

        At equal moments the smaller node comes first, whoever else runs there, so that a reservation stays where it
        was.
        """
        self.placeholder_unit_id = 0

    def share(self, workspace_id: int) -> UnitAvailability:
        share = self.workspace_units.get(workspace_id)
        if share is None:
            quota, runs = (
                self.quotas.get(workspace_id, NO_QUOTA),
                self.running_by_workspace.get(workspace_id, ()),
            )
            share = availability_of(self.clock, quota.limit, quota.limit - quota.used, runs)
            self.workspace_units[workspace_id] = share
        return share

    def node_offers(self, limit: float | None) -> list[NodeOffer]:
        """Lists the nodes that have free units for a job that ends within `limit`."""
        return [
            NodeOffer(self.ready[node_id], self.node_units[node_id].most_units_for(limit), free)
            for node_id, free in self.free.items()
            if free
        ]

    def choose_nodes(self, units: int, limit: float | None) -> list[NodeUnitCount]:
        """Chooses nodes on which `units` units are free now without delaying a reservation; empty if there are none."""
        offers = [
            offer for offer in self.node_offers(limit) if offer.units >= (1 if self.can_spread else units)
        ]
        return choose_nodes(offers, units, self.can_spread)

    def take_units(self, head: JobToPlace, nodes: Sequence[NodeUnitCount], passes: bool) -> Placement:
        given = []
        for node, count in nodes:
            free = self.free[node.node_id]
            units = choose_units(node, free, count)
            self.free[node.node_id] = [unit for unit in free if unit not in units]
            run = running_on_node(head, node.node_id, count, self.now)
            self.node_units[node.node_id].take_units(run)
            self.share(head.workspace_id).take_units(run)
            self.running_by_workspace.setdefault(head.workspace_id, []).append(run)
            given.append((node.node_id, units))
        return Placement(head.job_id, tuple(given), passes)

    def reserve(self, head: JobToPlace, moment: float, nodes: Sequence[NodeUnitCount]) -> None:
        """Reserves quota and units for the job from the moment on."""
        rooms = [(self.node_units[node.node_id], count) for node, count in nodes]
        for room, count in (*rooms, (self.share(head.workspace_id), head.units)):
            room.reserve(head.job_id, moment, expected_seconds(head), count)
            self.reserved.append(room)

    def clear_reservations(self) -> None:
        for room in self.reserved:
            room.clear_reservations()
        self.reserved = []
        self.earliest_fit = {}

    def advance_to(self, now: datetime, over: Collection[int]) -> None:
        """Moves the capacity to a later moment at which the jobs `over` have ended.

        It does not look up which units these jobs had: numbers below zero stand for them.
        """
        for workspace_id in self.running_by_workspace:
            self.share(workspace_id)
        self.now, self.clock.now = now, now.timestamp()
        self.clear_reservations()
        for node_id, room in self.node_units.items():
            if any(run.job_id in over for _, run in room.ends):
                before = room.free
                room.release_jobs(over)
                self.free[node_id] += range(
                    self.placeholder_unit_id - room.free + before, self.placeholder_unit_id
                )
                self.placeholder_unit_id -= room.free - before
        for share in self.workspace_units.values():
            if any(run.job_id in over for _, run in share.ends):
                share.release_jobs(over)

    def earliest_fit_for(
        self, units: int, earliest: float, workspace_id: int | None = None
    ) -> tuple[float, list[NodeUnitCount]]:
        """Returns the first moment, not before `earliest`, from which so many units stay free, and the nodes;
        infinite if it is unknown.

        The units are on one node if one is large enough, else on several. A workspace that has to wait for its own
        runs gets the units that these runs free. Units that are free already stay available to others until then.
        """
        if earliest > self.clock.now:
            freed = self._freed_by_own_runs(units, earliest, workspace_id)
            if freed is not None:
                return earliest, [(freed, units)]
        heap = self.earliest_fit.get(units)
        if heap is None:
            able = (node_id for node_id, node in self.ready.items() if node.total >= units)
            heap = self.earliest_fit[units] = [self._soonest(units, node_id) for node_id in able]
            heapify(heap)
        if not heap:
            return self._first_moment_together(units, earliest)
        while (now := self._soonest(units, heap[0][2])) != heap[0]:
            heapreplace(heap, now)
        moment, _, node_id = heap[0]
        return max(moment, earliest), [(self.ready[node_id], units)]

    def _freed_by_own_runs(self, units: int, earliest: float, workspace_id: int | None) -> NodeUnits | None:
        """Finds, among the nodes with runs of the workspace, the one on which so many units become free last before
        `earliest`.
        """
        own = {run.node_id for run in self.running_by_workspace.get(workspace_id or 0, ())}
        moments = [
            self._soonest(units, node_id)
            for node_id in own
            if node_id in self.ready and self.ready[node_id].total >= units
        ]
        in_time = [(-moment, total, node_id) for moment, total, node_id in moments if moment <= earliest]
        return self.ready[min(in_time)[2]] if in_time else None

    def _soonest(self, units: int, node_id: int) -> tuple[float, int, int]:
        return self.node_units[node_id].earliest_with(units), self.ready[node_id].total, node_id

    def _first_moment_together(self, units: int, earliest: float) -> tuple[float, list[NodeUnitCount]]:
        """Free units of all nodes together only grow with time, so the first moment is found by bisection."""
        levels = (moment for room in self.node_units.values() for moment, _ in room.levels())
        moments = sorted({earliest, *(moment for moment in levels if moment > earliest)})

        def together(moment: float) -> int:
            return sum(room.most_units_from(moment) for room in self.node_units.values())

        first = bisect_left(moments, units, key=together)
        if first == len(moments) or moments[first] == inf:
            return inf, []
        there = (
            (node, self.node_units[node_id].most_units_from(moments[first]))
            for node_id, node in self.ready.items()
        )
        offers = [NodeOffer(node, most, ()) for node, most in there if most > 0]
        return moments[first], choose_nodes(offers, units, spread=True)

    def job_ending_at(
        self, moment: float, workspace_id: int, nodes: Sequence[NodeUnitCount]
    ) -> RunningOnNode | None:
        """The running job whose end the reservation waits for; None if another reservation frees the units."""
        rooms = [self.share(workspace_id), *(self.node_units[node.node_id] for node, _ in nodes)]
        ends = (run for room in rooms for end, run in room.ends if end == moment)
        return next((run for run in ends if run.job_id != NO_JOB), None)

    def most_units_now(self, head: JobToPlace) -> int | None:
        """Returns the largest number of units with which the job would start now; None if even one unit would not
        help.
        """
        most = min(self.share(head.workspace_id).most_units_for(head.limit_seconds), head.units - 1)
        if most <= 0:
            return None
        units = [offer.units for offer in self.node_offers(head.limit_seconds)]
        most = min(most, sum(units) if self.can_spread else max(units, default=0))
        return most if most > 0 else None

    def longest_free_seconds(self, head: JobToPlace) -> float:
        """Returns for how many seconds the units of the job stay free on one node from now on, within the quota."""
        lengths = (
            room.longest_free_seconds(head.units)
            for room in self.node_units.values()
            if room.free >= head.units
        )
        return min(max(lengths, default=0.0), self.share(head.workspace_id).longest_free_seconds(head.units))


def expected_seconds(head: JobToPlace) -> float | None:
    """Returns how many seconds the job is expected to hold its units: the estimate, or its time limit."""
    return head.limit_seconds if head.seconds is None else head.seconds


def running_on_node(head: JobToPlace, node_id: int, units: int, now: datetime) -> RunningOnNode:
    seconds = expected_seconds(head)
    ends_at = None if seconds is None else now + timedelta(seconds=seconds)
    latest_at = None if head.limit_seconds is None else now + timedelta(seconds=head.limit_seconds)
    return RunningOnNode(
        head.job_id,
        head.workspace_id,
        node_id,
        units,
        ends_at,
        latest_at=latest_at,
        source=head.estimate_source,
    )
