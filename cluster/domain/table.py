"""What is free, until when, and what of it is promised: nodes and quotas while heads are decided."""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import heapify, heapreplace
from math import inf

from cluster.domain.board import Head, NodeUnits, Placed, Quota, Running
from cluster.domain.gangs import Offer, Share, choose_nodes, choose_units
from cluster.domain.rooms import NOBODY, Clock, Room, room_of

NO_QUOTA = Quota(0, 0)


class Table:
    def __init__(
        self,
        nodes: Sequence[NodeUnits],
        quotas: Mapping[int, Quota],
        running: Sequence[Running],
        now: datetime,
        spread: bool,
    ) -> None:
        self.now, self.quotas, self.spread = now, quotas, spread
        self.clock = Clock(now.timestamp())
        self.nodes = sorted(nodes, key=lambda node: node.node_id)
        self.ready = {node.node_id: node for node in self.nodes if node.takes_jobs}
        self.free = {node_id: list(node.free) for node_id, node in self.ready.items()}
        self.of_workspace: dict[int, list[Running]] = {}
        on_node: dict[int, list[Running]] = {}
        for run in running:
            on_node.setdefault(run.node_id, []).append(run)
            self.of_workspace.setdefault(run.workspace_id, []).append(run)
        self.rooms = {
            node_id: room_of(self.clock, node.total, len(node.free), on_node.get(node_id, ()))
            for node_id, node in self.ready.items()
        }
        self.shares: dict[int, Room] = {}
        """What each workspace may still take of its quota."""
        self.promised: list[Room] = []
        self.soonest: dict[int, list[tuple[float, int, int]]] = {}
        """By units, a heap of (first moment, size, node): within a look moments only get later.

        Equal moments go to the smaller node, whoever else is there now: a promise stays where it was.
        """
        self.made_up = 0

    def share(self, workspace_id: int) -> Room:
        share = self.shares.get(workspace_id)
        if share is None:
            quota, runs = self.quotas.get(workspace_id, NO_QUOTA), self.of_workspace.get(workspace_id, ())
            share = room_of(self.clock, quota.limit, quota.limit - quota.used, runs)
            self.shares[workspace_id] = share
        return share

    def offers(self, limit: float | None) -> list[Offer]:
        """The nodes that have something free for a job that is over by then."""
        return [
            Offer(self.ready[node_id], self.rooms[node_id].most(limit), free)
            for node_id, free in self.free.items()
            if free
        ]

    def choose(self, units: int, limit: float | None) -> list[Share]:
        """On which nodes so many are free now, promises kept; empty where they are not."""
        offers = [offer for offer in self.offers(limit) if offer.units >= (1 if self.spread else units)]
        return choose_nodes(offers, units, self.spread)

    def give(self, head: Head, nodes: Sequence[Share], passes: bool) -> Placed:
        given = []
        for node, count in nodes:
            free = self.free[node.node_id]
            units = choose_units(node, free, count)
            self.free[node.node_id] = [unit for unit in free if unit not in units]
            run = run_of(head, node.node_id, count, self.now)
            self.rooms[node.node_id].take(run)
            self.share(head.workspace_id).take(run)
            given.append((node.node_id, units))
        return Placed(head.job_id, tuple(given), passes)

    def promise(self, head: Head, moment: float, nodes: Sequence[Share]) -> None:
        """Keeps quota and units for it from a moment on."""
        rooms = [(self.rooms[node.node_id], count) for node, count in nodes]
        for room, count in (*rooms, (self.share(head.workspace_id), head.units)):
            room.promise(head.job_id, moment, expected_of(head), count)
            self.promised.append(room)

    def forget_promises(self) -> None:
        for room in self.promised:
            room.forget_promises()
        self.promised = []
        self.soonest = {}

    def go_on(self, now: datetime, over: Collection[int]) -> None:
        """At a later moment, at which these jobs have ended.

        Which units they had is not looked up: numbers below zero stand for them.
        """
        for workspace_id in self.of_workspace:
            self.share(workspace_id)
        self.now, self.clock.now = now, now.timestamp()
        self.forget_promises()
        for node_id, room in self.rooms.items():
            if any(run.job_id in over for _, run in room.ends):
                before = room.free
                room.give_back(over)
                self.free[node_id] += range(self.made_up - room.free + before, self.made_up)
                self.made_up -= room.free - before
        for share in self.shares.values():
            if any(run.job_id in over for _, run in share.ends):
                share.give_back(over)

    def first_moment(self, units: int, earliest: float) -> tuple[float, list[Share]]:
        """When so many are free for good and where, not before `earliest`; infinite where nothing tells it.

        On one node where one is large enough, else on several.
        """
        heap = self.soonest.get(units)
        if heap is None:
            able = (node_id for node_id, node in self.ready.items() if node.total >= units)
            heap = self.soonest[units] = [self._soonest(units, node_id) for node_id in able]
            heapify(heap)
        if not heap:
            return self._first_moment_together(units, earliest)
        while (now := self._soonest(units, heap[0][2])) != heap[0]:
            heapreplace(heap, now)
        moment, _, node_id = heap[0]
        return max(moment, earliest), [(self.ready[node_id], units)]

    def _soonest(self, units: int, node_id: int) -> tuple[float, int, int]:
        return self.rooms[node_id].moment_for(units), self.ready[node_id].total, node_id

    def _first_moment_together(self, units: int, earliest: float) -> tuple[float, list[Share]]:
        """What all nodes have for good grows with time, so the first moment is found by halving."""
        levels = (moment for room in self.rooms.values() for moment, _ in room.levels())
        moments = sorted({earliest, *(moment for moment in levels if moment > earliest)})

        def together(moment: float) -> int:
            return sum(room.most_from(moment) for room in self.rooms.values())

        first = bisect_left(moments, units, key=together)
        if first == len(moments) or moments[first] == inf:
            return inf, []
        there = (
            (node, self.rooms[node_id].most_from(moments[first])) for node_id, node in self.ready.items()
        )
        offers = [Offer(node, most, ()) for node, most in there if most > 0]
        return moments[first], choose_nodes(offers, units, spread=True)

    def run_ending_at(self, moment: float, workspace_id: int, nodes: Sequence[Share]) -> Running | None:
        """Whose end it is that somebody waits for; None where it is another promise's."""
        rooms = [self.share(workspace_id), *(self.rooms[node.node_id] for node, _ in nodes)]
        ends = (run for room in rooms for end, run in room.ends if end == moment)
        return next((run for run in ends if run.job_id != NOBODY), None)

    def fewer_units(self, head: Head) -> int | None:
        """The most with which it would start now; None where even one would not help."""
        most = min(self.share(head.workspace_id).most(head.limit), head.units - 1)
        if most <= 0:
            return None
        units = [offer.units for offer in self.offers(head.limit)]
        most = min(most, sum(units) if self.spread else max(units, default=0))
        return most if most > 0 else None

    def longest(self, head: Head) -> float:
        """For how many seconds from now on its units are free on one node, within the quota."""
        lengths = (room.longest(head.units) for room in self.rooms.values() if room.free >= head.units)
        return min(max(lengths, default=0.0), self.share(head.workspace_id).longest(head.units))


def expected_of(head: Head) -> float | None:
    """How many seconds it will hold its units, as far as anybody knows."""
    return head.limit if head.seconds is None else head.seconds


def run_of(head: Head, node_id: int, units: int, now: datetime) -> Running:
    seconds = expected_of(head)
    ends_at = None if seconds is None else now + timedelta(seconds=seconds)
    latest_at = None if head.limit is None else now + timedelta(seconds=head.limit)
    return Running(
        head.job_id, head.workspace_id, node_id, units, ends_at, latest_at=latest_at, source=head.source
    )
