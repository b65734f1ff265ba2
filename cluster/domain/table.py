"""What is still free while heads are decided one after another."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import inf

from cluster.domain.board import Decision, Head, NodeUnits, Placed, Quota, Running, Waiting
from cluster.domain.gangs import Offer, Share, choose_nodes, choose_units
from cluster.domain.never import why_never
from cluster.domain.rooms import NOBODY, UNKNOWN, Room, as_time, room_of
from cluster.domain.states import NodeState
from cluster.domain.waiting import (
    AheadInQueue,
    HeldForAnother,
    NotEnoughTogether,
    NotEnoughUnits,
    Outlook,
    QuotaUsed,
    Reason,
)

NO_QUOTA = Quota(0, 0)


class Table:
    """Give it heads in the true order. What it has refused to one it refuses to its like at once."""

    def __init__(
        self,
        nodes: Sequence[NodeUnits],
        quotas: Mapping[int, Quota],
        running: Sequence[Running],
        now: datetime,
        spread: bool,
    ) -> None:
        self.now, self.quotas, self.spread = now, quotas, spread
        self.nodes = sorted(nodes, key=lambda node: node.node_id)
        self.ready = [node for node in self.nodes if node.state is NodeState.READY]
        self.free = {node.node_id: list(node.free) for node in self.ready}
        on_node: dict[int, list[Running]] = {}
        self.of_workspace: dict[int, list[Running]] = {}
        for run in running:
            on_node.setdefault(run.node_id, []).append(run)
            self.of_workspace.setdefault(run.workspace_id, []).append(run)
        moment = now.timestamp()
        self.rooms = {
            node.node_id: room_of(node.total, len(node.free), on_node.get(node.node_id, ()), moment)
            for node in self.ready
        }
        self.shares: dict[int, Room] = {}
        """What each workspace may still take."""
        self.start_looking()

    def start_looking(self) -> None:
        """Forgets what was refused and promised; what was given stays given."""
        self.lines: dict[int, list[int]] = {}
        """Waiting jobs per workspace, the foremost first."""
        self.has_promise: set[int] = set()
        """Workspaces whose foremost job has one: others may pass it without delaying it."""
        self.refused: set[tuple[int, int, float | None]] = set()
        self.has_no_node: set[tuple[int, float | None]] = set()
        self.never: dict[tuple[int, int], Reason | None] = {}

    def decide(self, head: Head) -> Decision:
        if head.blocked:
            return Waiting(head.job_id, head.blocked)
        never = self._never(head)
        if never:
            return Waiting(head.job_id, never, self._help_once(head))
        line = self.lines.setdefault(head.workspace_id, [])
        shape = (head.workspace_id, head.units, head.limit)
        if line and (shape in self.refused or head.workspace_id not in self.has_promise):
            return self._behind(head, line)
        nodes = self.choose(head)
        if nodes:
            return self._give(head, nodes)
        self.refused.add(shape)
        if line:
            return self._behind(head, line)
        line.append(head.job_id)
        reason = self._why_not_now(head)
        outlook = self._promise(head)
        return Waiting(head.job_id, reason, outlook)

    def _never(self, head: Head) -> Reason | None:
        """Looked up once for each size and quota."""
        key = (head.units, self.quota_of(head).limit)
        if key not in self.never:
            self.never[key] = why_never(head, self.nodes, key[1], self.spread)
        return self.never[key]

    def quota_of(self, head: Head) -> Quota:
        return self.quotas.get(head.workspace_id, NO_QUOTA)

    def share_of(self, head: Head) -> Room:
        share = self.shares.get(head.workspace_id)
        if share is None:
            quota = self.quota_of(head)
            runs = self.of_workspace.get(head.workspace_id, ())
            share = room_of(quota.limit, quota.limit - quota.used, runs, self.now.timestamp())
            self.shares[head.workspace_id] = share
        return share

    def choose(self, head: Head) -> list[Share]:
        """Where it starts now, within its quota and past no promise; empty where it does not."""
        if not self.share_of(head).fits(head.units, head.limit):
            return []
        wanted = (head.units, head.limit)
        if wanted in self.has_no_node:
            return []
        nodes = choose_nodes(
            self._offers(head.limit, 1 if self.spread else head.units), head.units, self.spread
        )
        if not nodes:
            self.has_no_node.add(wanted)
        return nodes

    def helps(self, head: Head) -> int | None:
        """The most units with which it would start now; None where even one would not help."""
        if self.share_of(head).free <= 0:
            return None
        units = [offer.units for offer in self._offers(head.limit, 1)]
        most = sum(units) if self.spread else max(units, default=0)
        most = min(most, self.share_of(head).most(head.limit), head.units - 1)
        return most if most > 0 else None

    def longest(self, head: Head) -> float:
        """For how many seconds one node, or all where it may spread, can have it from now on."""
        lengths = [(room.longest(head.units), room.free) for room in self.rooms.values()]
        longest = max((length for length, free in lengths if free >= head.units), default=0.0)
        share = self.share_of(head)
        return min(longest, share.longest(head.units)) if share.free >= head.units else 0.0

    def _offers(self, limit: float | None, least: int) -> list[Offer]:
        return [
            Offer(node, self.rooms[node.node_id].most(limit), self.free[node.node_id])
            for node in self.ready
            if len(self.free[node.node_id]) >= least
        ]

    def _help_once(self, head: Head) -> Outlook:
        """For the first of its like; the rest may ask `cluster.domain.advice`."""
        shape = (head.workspace_id, head.units, head.limit)
        is_behind = bool(self.lines.get(head.workspace_id)) and head.workspace_id not in self.has_promise
        if shape in self.refused or is_behind:
            return Outlook()
        self.refused.add(shape)
        return Outlook(helps_units=self.helps(head))

    def _behind(self, head: Head, line: list[int]) -> Waiting:
        line.append(head.job_id)
        ahead = len(line) - 1
        return Waiting(head.job_id, AheadInQueue(ahead, line[0]), Outlook(ahead=ahead, first_ahead=line[0]))

    def _give(self, head: Head, nodes: Sequence[Share]) -> Placed:
        given = []
        for node, count in nodes:
            free = self.free[node.node_id]
            units = choose_units(node, free, count)
            self.free[node.node_id] = [unit for unit in free if unit not in units]
            run = run_of(head, node.node_id, count, self.now)
            self.rooms[node.node_id].take(run)
            self.share_of(head).take(run)
            given.append((node.node_id, units))
        return Placed(head.job_id, tuple(given))

    def _why_not_now(self, head: Head) -> Reason:
        quota, share = self.quota_of(head), self.share_of(head)
        kind = self.ready[0].kind
        if share.free < head.units:
            return QuotaUsed(quota.limit, quota.limit - share.free, head.units, kind)
        free = {node.node_id: len(self.free[node.node_id]) for node in self.ready}
        together = sum(free.values())
        if self.spread and together < head.units:
            return NotEnoughTogether(head.units, together, len(self.ready), kind)
        emptiest = max(self.ready, key=lambda node: (free[node.node_id], node.total, -node.node_id))
        if not self.spread and free[emptiest.node_id] < head.units:
            return NotEnoughUnits(
                head.units, free[emptiest.node_id], emptiest.name, emptiest.kind, len(self.ready)
            )
        fitting = [node for node in self.ready if self.rooms[node.node_id].promises]
        node = max(fitting, key=lambda node: (free[node.node_id], -node.node_id))
        return HeldForAnother(self.rooms[node.node_id].promises[0].job_id, node.name)

    def _promise(self, head: Head) -> Outlook:
        """Keeps units for it from the first moment at which they are there."""
        share, helps = self.share_of(head), self.helps(head)
        moment, shares = self._first_moment(head.units, share.moment_for(head.units))
        if moment == inf:
            return Outlook(helps_units=helps)
        is_until_nobody_knows = share.free < head.units and moment >= UNKNOWN
        for node, count in shares if not is_until_nobody_knows else ():
            # Units are not left idle for others while its own workspace runs nobody knows how long.
            self.rooms[node.node_id].promise(head.job_id, moment, expected_of(head), count)
        share.promise(head.job_id, moment, expected_of(head), head.units)
        self.has_promise.add(head.workspace_id)
        run = self._run_ending_at(moment, share, shares)
        return Outlook(
            freed_by=run.job_id if run else None,
            starts_at=as_time(moment, self.now),
            earliest_at=run.earliest_at if run else None,
            latest_at=run.latest_at if run else None,
            source=run.source if run else None,
            starts_on_node=shares[0][0].name if run or moment < UNKNOWN else None,
            helps_units=helps,
        )

    def _first_moment(self, units: int, earliest: float) -> tuple[float, list[Share]]:
        """When so many units are there for good, not before `earliest`, and where."""
        if self.spread:
            return self._first_moment_together(units, earliest)
        able = [node for node in self.ready if node.total >= units]
        moments = ((max(self.rooms[node.node_id].moment_for(units), earliest), node) for node in able)
        moment, node = min(moments, key=lambda found: (found[0], -self.rooms[found[1].node_id].free))
        return moment, [(node, units)]

    def _first_moment_together(self, units: int, earliest: float) -> tuple[float, list[Share]]:
        """What all nodes have for good grows with time, so the first moment is found by halving."""
        levels = (moment for room in self.rooms.values() for moment, _ in room.levels())
        moments = sorted({earliest, *(moment for moment in levels if moment > earliest)})

        def together(moment: float) -> int:
            return sum(room.most_from(moment) for room in self.rooms.values())

        first = bisect_left(moments, units, key=together)
        if first == len(moments) or moments[first] == inf:
            return inf, []
        offers = [Offer(node, self.rooms[node.node_id].most_from(moments[first]), ()) for node in self.ready]
        return moments[first], choose_nodes([offer for offer in offers if offer.units > 0], units, True)

    def _run_ending_at(self, moment: float, share: Room, shares: Sequence[Share]) -> Running | None:
        """Whose end it waits for; None where it is another promise's."""
        rooms = [share, *(self.rooms[node.node_id] for node, _ in shares)]
        ends = (run for room in rooms for end, run in room.ends if end == moment)
        return next((run for run in ends if run.job_id != NOBODY), None)


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
