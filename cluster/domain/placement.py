"""Which waiting jobs start now, on which units; everybody else gets a reason (Q1–Q4).

The rules: within a workspace by priority, then first come; all units or none; a quota is never passed.
A job that waits for units or quota is not overtaken by later ones of its workspace, and the node on which
it will fit is held for it against other workspaces, so that small jobs cannot keep a large one waiting for
ever. A job that waits for something else (data set, environment, term) lets others pass.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from cluster.domain.board import Decision, Head, NodeUnits, Placed, Quota, Running, Waiting
from cluster.domain.states import NodeState
from cluster.domain.waiting import (
    AheadInQueue,
    HeldForAnother,
    NodeDraining,
    NodeLost,
    NodesTooSmall,
    NodeUnreachable,
    NoExecutor,
    NoNodes,
    NotEnoughUnits,
    Outlook,
    QuotaUsed,
    Reason,
)

__all__ = ["Decision", "Head", "NodeUnits", "Placed", "Quota", "Running", "Waiting", "in_order", "place"]


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
    board = _Board(nodes, quotas, running)
    return [board.decide(head) for head in in_order(heads)]


def in_order(heads: Sequence[Head]) -> list[Head]:
    """The true order: a workspace's jobs by priority and id; workspaces take turns by who came first.

    Priority acts within the workspace only: the k-th job of a workspace goes where its k-th oldest stood.
    """
    lines: dict[int, list[Head]] = {}
    for head in sorted(heads, key=lambda h: (-h.priority, h.position, h.job_id)):
        lines.setdefault(head.workspace_id, []).append(head)
    places = {ws: sorted(h.job_id for h in line) for ws, line in lines.items()}
    queue = [
        (place, head) for ws, line in lines.items() for place, head in zip(places[ws], line, strict=True)
    ]
    return [head for _, head in sorted(queue, key=lambda entry: entry[0])]


AWAY = (NodeState.UNREACHABLE, NodeState.LOST, NodeState.DRAINING, NodeState.NO_EXECUTOR)
"""The likeliest to come back first."""


class _Board:
    """What is still free while heads are decided one after another."""

    def __init__(
        self, nodes: Sequence[NodeUnits], quotas: Mapping[int, Quota], running: Sequence[Running]
    ) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.node_id)
        self.ready = [node for node in self.nodes if node.state is NodeState.READY]
        self.free = {node.node_id: list(node.free) for node in self.ready}
        self.quotas = quotas
        self.used = {workspace: quota.used for workspace, quota in quotas.items()}
        self.running = list(running)
        self.lines: dict[int, list[int]] = {}
        """Waiting jobs per workspace that may not be overtaken."""
        self.held: dict[int, Head] = {}
        """Nodes kept for a waiting job of some workspace."""

    def decide(self, head: Head) -> Decision:
        line = self.lines.setdefault(head.workspace_id, [])
        if head.blocked:
            return Waiting(head.job_id, head.blocked)
        if line:
            outlook = Outlook(ahead=len(line), first_ahead=line[0])
            line.append(head.job_id)
            return Waiting(head.job_id, AheadInQueue(len(line) - 1, line[0]), outlook)
        decision = self._try(head)
        if isinstance(decision, Waiting):
            line.append(head.job_id)
        return decision

    def _try(self, head: Head) -> Decision:
        absent = self._nobody_can()
        if absent:
            return Waiting(head.job_id, absent)
        largest = max(self.ready, key=lambda node: (node.total, -node.node_id))
        if largest.total < head.units:
            reason = NodesTooSmall(head.units, largest.total, largest.name, largest.kind)
            return Waiting(head.job_id, reason, Outlook(helps_units=self._helps(head)))
        quota = self.quotas.get(head.workspace_id, Quota(0, 0))
        used = self.used.get(head.workspace_id, 0)
        if used + head.units > quota.limit:
            return Waiting(
                head.job_id,
                QuotaUsed(quota.limit, used, head.units, largest.kind),
                self._outlook_by_quota(head, quota.limit - used),
            )
        node = self._choose(head.units)
        if node:
            return self._give(head, node)
        return self._wait_for_units(head)

    def _nobody_can(self) -> Reason | None:
        if self.ready:
            return None
        if not self.nodes:
            return NoNodes()
        away = min(self.nodes, key=lambda node: (AWAY.index(node.state), node.node_id))
        if away.state is NodeState.UNREACHABLE:
            return NodeUnreachable(away.name, away.since)
        if away.state is NodeState.LOST:
            return NodeLost(away.name, away.since)
        if away.state is NodeState.DRAINING:
            return NodeDraining(away.name, away.since)
        return NoExecutor(away.name)

    def _choose(self, units: int) -> NodeUnits | None:
        """The fullest node on which it fits, so that large holes stay for large jobs."""
        fitting = [n for n in self.ready if n.node_id not in self.held and len(self.free[n.node_id]) >= units]
        return min(fitting, key=lambda n: (len(self.free[n.node_id]), n.node_id), default=None)

    def _give(self, head: Head, node: NodeUnits) -> Placed:
        free = self.free[node.node_id]
        given, self.free[node.node_id] = free[: head.units], free[head.units :]
        self.used[head.workspace_id] = self.used.get(head.workspace_id, 0) + head.units
        self.running.append(Running(head.job_id, head.workspace_id, node.node_id, head.units))
        return Placed(head.job_id, ((node.node_id, tuple(given)),))

    def _wait_for_units(self, head: Head) -> Waiting:
        fitting = [n for n in self.ready if len(self.free[n.node_id]) >= head.units]
        if fitting:
            node = fitting[0]
            return Waiting(head.job_id, HeldForAnother(self.held[node.node_id].job_id, node.name))
        emptiest = max(self.ready, key=lambda n: (len(self.free[n.node_id]), n.total, -n.node_id))
        reason = NotEnoughUnits(
            head.units, len(self.free[emptiest.node_id]), emptiest.name, emptiest.kind, len(self.ready)
        )
        target, outlook = self._outlook_by_units(head)
        self.held.setdefault(target.node_id, head)
        return Waiting(head.job_id, reason, outlook)

    def _helps(self, head: Head) -> int | None:
        """The most units with which it would start now; None where even one would not."""
        free = max((len(f) for node, f in self.free.items() if node not in self.held), default=0)
        quota = self.quotas.get(head.workspace_id, Quota(0, 0))
        most = min(free, quota.limit - self.used.get(head.workspace_id, 0), head.units - 1)
        return most if most > 0 else None

    def _outlook_by_quota(self, head: Head, left: int) -> Outlook:
        own = [job for job in self.running if job.workspace_id == head.workspace_id]
        last = _frees(own, head.units - left)
        if last is None:
            return Outlook(helps_units=self._helps(head))
        return Outlook(freed_by=last.job_id, starts_at=last.ends_at, helps_units=self._helps(head))

    def _outlook_by_units(self, head: Head) -> tuple[NodeUnits, Outlook]:
        """The node on which it will fit first, by the expected ends of what runs there."""
        best: tuple[tuple[bool, float, int, int], NodeUnits, Running | None] | None = None
        for node in self.ready:
            if node.total < head.units:
                continue
            free = len(self.free[node.node_id])
            there = [job for job in self.running if job.node_id == node.node_id]
            last = _frees(there, head.units - free)
            known = last is not None and last.ends_at is not None
            moment = last.ends_at.timestamp() if last and last.ends_at else 0.0
            rank = (not known, moment, -free, node.node_id)
            if best is None or rank < best[0]:
                best = (rank, node, last)
        assert best is not None, "the largest node was checked before"
        _, node, last = best
        outlook = Outlook(
            freed_by=last.job_id if last else None,
            starts_at=last.ends_at if last else None,
            starts_on_node=node.name if last else None,
            helps_units=self._helps(head),
        )
        return node, outlook


def _frees(jobs: Sequence[Running], missing: int) -> Running | None:
    """The job after whose end `missing` units have come back: known ends first, then the oldest jobs."""
    far = float("inf")
    ordered = sorted(jobs, key=lambda j: (j.ends_at.timestamp() if j.ends_at else far, j.job_id))
    for job in ordered:
        missing -= job.units
        if missing <= 0:
            return job
    return None
