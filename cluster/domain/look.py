"""One look at the queue: heads come in the true order, each starts or is told why not."""

from collections.abc import Sequence
from math import inf

from cluster.domain.board import Decision, Head, Placed, Waiting
from cluster.domain.gangs import Share
from cluster.domain.never import why_never
from cluster.domain.order import in_order
from cluster.domain.outlook import Outlook
from cluster.domain.reasons import (
    AheadInQueue,
    HeldForAnother,
    NotEnoughTogether,
    NotEnoughUnits,
    QuotaUsed,
    Reason,
)
from cluster.domain.rooms import UNKNOWN, as_time
from cluster.domain.table import NO_QUOTA, Table

Shape = tuple[int, float | None]
"""Units and limit: what decides whether a job fits."""


class Look:
    """What it has refused to one job it refuses to its like at once: during a look less and less is free."""

    def __init__(self, table: Table) -> None:
        self.table = table
        table.forget_promises()
        self.lines: dict[int, list[int]] = {}
        """Waiting jobs per workspace, the foremost first."""
        self.promised: set[int] = set()
        """Workspaces whose foremost job has a promise, so that others can pass it without delaying it."""
        self.refused: set[tuple[int, Shape]] = set()
        """By workspace: there is no room within its quota, or on no node."""
        self.nowhere: set[Shape] = set()
        self.never: dict[tuple[int, int], Reason | None] = {}

    def in_turn(self, heads: Sequence[Head]) -> list[Head]:
        return in_order(heads, self.table.quotas, self.takes_turn)

    def takes_turn(self, head: Head) -> bool:
        return head.blocked is None and not self.why_never(head)

    def decide(self, head: Head) -> Decision:
        if head.blocked:
            return Waiting(head.job_id, head.blocked)
        never = self.why_never(head)
        if never:
            return Waiting(head.job_id, never)
        placed = self._start(head)
        if placed:
            return placed
        line = self.lines.setdefault(head.workspace_id, [])
        line.append(head.job_id)
        if len(line) > 1:
            ahead = len(line) - 1
            return Waiting(head.job_id, AheadInQueue(ahead, line[0]), Outlook(ahead, line[0]))
        reason, helps = self._why_not_now(head), self.table.fewer_units(head)
        return Waiting(head.job_id, reason, self._outlook(head, helps, *self._promise(head)))

    def start(self, head: Head) -> Placed | None:
        """`decide` for those who do not ask why."""
        if not self.takes_turn(head):
            return None
        placed = self._start(head)
        if not placed:
            line = self.lines.setdefault(head.workspace_id, [])
            line.append(head.job_id)
            if len(line) == 1:
                self._promise(head)
        return placed

    def why_never(self, head: Head) -> Reason | None:
        quota = self.table.quotas.get(head.workspace_id, NO_QUOTA).limit
        key = (head.units, quota)
        if key not in self.never:
            self.never[key] = why_never(head, self.table.nodes, quota, self.table.spread)
        return self.never[key]

    def may_pass(self, head: Head) -> bool:
        """Whether it is the foremost of its workspace, or that one has a promise which it cannot break."""
        return not self.lines.get(head.workspace_id) or head.workspace_id in self.promised

    def _start(self, head: Head) -> Placed | None:
        shape = (head.units, head.limit)
        if (head.workspace_id, shape) in self.refused or not self.may_pass(head):
            return None
        if shape not in self.nowhere and self.table.share(head.workspace_id).fits(*shape):
            nodes = self.table.choose(*shape)
            if nodes:
                return self.table.give(head, nodes, passes=bool(self.lines.get(head.workspace_id)))
            self.nowhere.add(shape)
        self.refused.add((head.workspace_id, shape))
        return None

    def _why_not_now(self, head: Head) -> Reason:
        table = self.table
        share, ready = table.share(head.workspace_id), list(table.ready.values())
        # A master that only directs has no units, and so none of any kind.
        kind = next((node.kind for node in ready if node.total), ready[0].kind)
        if share.free < head.units:
            limit = table.quotas[head.workspace_id].limit
            return QuotaUsed(limit, limit - share.free, head.units, kind)
        free = {node_id: len(units) for node_id, units in table.free.items()}
        if table.spread and sum(free.values()) < head.units:
            return NotEnoughTogether(head.units, sum(free.values()), len(ready), kind)
        most = max(ready, key=lambda node: (free[node.node_id], node.total, -node.node_id))
        if not table.spread and free[most.node_id] < head.units:
            return NotEnoughUnits(head.units, free[most.node_id], most.name, most.kind, len(ready))
        kept = [node for node in ready if table.rooms[node.node_id].promises]
        node = max(kept, key=lambda node: (free[node.node_id], -node.node_id))
        return HeldForAnother(table.rooms[node.node_id].promises[0].job_id, node.name)

    def _promise(self, head: Head) -> tuple[float, list[Share]]:
        """Keeps units for it from the first moment at which they are there; infinite where nothing tells it."""
        table, share = self.table, self.table.share(head.workspace_id)
        moment, nodes = table.first_moment(head.units, share.moment_for(head.units))
        if moment < inf:
            is_until_nobody_knows = share.free < head.units and moment >= UNKNOWN
            # Units are not left idle for others while its own workspace runs nobody knows how long.
            table.promise(head, moment, [] if is_until_nobody_knows else nodes)
            self.promised.add(head.workspace_id)
        return moment, nodes

    def _outlook(self, head: Head, helps: int | None, moment: float, nodes: list[Share]) -> Outlook:
        run = self.table.run_ending_at(moment, head.workspace_id, nodes) if moment < inf else None
        return Outlook(
            freed_by=run.job_id if run else None,
            starts_at=as_time(moment, self.table.now),
            starts_on_node=nodes[0][0].name if run or moment < UNKNOWN else None,
            helps_units=helps,
            earliest_at=run.earliest_at if run else None,
            latest_at=run.latest_at if run else None,
            source=run.source if run else None,
        )
