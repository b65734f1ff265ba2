"""Decide the state of a node from its heartbeats, when a silent node counts as lost, and its fate since a placement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from cluster.domain.errors import Conflict, Refused
from cluster.domain.jobs.attempts import NodeFate
from cluster.domain.names import check_text
from cluster.domain.states import NodeState

UNREACHABLE_AFTER = timedelta(seconds=20)
"""A node that is silent for this long is unreachable: its units stay booked, and nothing new starts there."""
LONGEST_REASON = 200


class HasNodeSignals(Protocol):
    """The columns of a node that decide its state."""

    @property
    def heartbeat_at(self) -> datetime | None: ...

    @property
    def has_executor(self) -> bool: ...

    @property
    def draining_since(self) -> datetime | None: ...

    @property
    def lost_at(self) -> datetime | None: ...

    @property
    def booted_at(self) -> datetime | None: ...


@dataclass(frozen=True)
class NodeSignals:
    """A node's signals as a value, apart from its row. Every moment is UTC."""

    heartbeat_at: datetime | None
    has_executor: bool = True
    draining_since: datetime | None = None
    lost_at: datetime | None = None
    booted_at: datetime | None = None
    """The time at which the agent first reported the node's present boot; None for the first boot that was seen."""


def node_state_of(node: HasNodeSignals, now: datetime) -> NodeState:
    """Returns one state, the gravest first. A lost node stays lost until everything that runs there has been ended."""
    if node.lost_at is not None:
        return NodeState.LOST
    if is_silent(node, now):
        return NodeState.UNREACHABLE
    if not node.has_executor:
        return NodeState.NO_EXECUTOR
    return NodeState.READY if node.draining_since is None else NodeState.DRAINING


def node_state_since(node: HasNodeSignals, now: datetime) -> datetime | None:
    """The time since which the node is draining, silent or lost; None for every other state."""
    state = node_state_of(node, now)
    if state in (NodeState.UNREACHABLE, NodeState.LOST):
        return node.heartbeat_at
    return node.draining_since if state is NodeState.DRAINING else None


def is_silent(node: HasNodeSignals, now: datetime) -> bool:
    return node.heartbeat_at is None or now - node.heartbeat_at > UNREACHABLE_AFTER


def is_due_to_be_lost(node: HasNodeSignals, now: datetime, grace: timedelta) -> bool:
    """Whether the node was silent for longer than the grace time. A node that never reported holds nothing and is not
    given up.
    """
    return node.lost_at is None and node.heartbeat_at is not None and now - node.heartbeat_at >= grace


def has_recovered(node: HasNodeSignals, now: datetime) -> bool:
    """Whether a lost node reports again. It takes jobs once nothing of its earlier runs is left."""
    return node.lost_at is not None and not is_silent(node, now)


def node_fate_since(node: HasNodeSignals, placed_at: datetime, now: datetime) -> NodeFate:
    """Return the node's fate since something was placed there."""
    if node.lost_at is not None:
        return NodeFate.LOST
    if node.booted_at is not None and node.booted_at > placed_at:
        return NodeFate.REBOOTED
    return NodeFate.UNREACHABLE if is_silent(node, now) else NodeFate.SAME_BOOT


_GRAVEST = (NodeFate.LOST, NodeFate.REBOOTED, NodeFate.UNREACHABLE, NodeFate.SAME_BOOT)


def worst_fate(fates: Iterable[NodeFate]) -> NodeFate:
    """The fate of a gang over several nodes: if one member is lost, the whole gang is lost."""
    return min(fates, key=_GRAVEST.index, default=NodeFate.SAME_BOOT)


def is_node_gone(fate: NodeFate) -> bool:
    """Whether nothing that was placed there before counts as running any more, even if the node could not be asked."""
    return fate in (NodeFate.LOST, NodeFate.REBOOTED)


def check_can_be_forgotten(
    name: str,
    node: HasNodeSignals,
    job_ids: Sequence[int],
    is_master: bool,
    now: datetime,
    is_stopped: bool = False,
) -> None:
    """Raises Conflict for the master, for a node with jobs, and for one that answers and is neither drained nor
    stopped just now."""
    if is_master:
        raise Conflict("node.forget_master", node=name)
    if job_ids:
        jobs = ", ".join(f"job-{job_id}" for job_id in job_ids)
        raise Conflict("node.forget_jobs_run", node=name, jobs=jobs)
    is_answering = node_state_of(node, now) in (NodeState.READY, NodeState.NO_EXECUTOR)
    if is_answering and node.draining_since is None and not is_stopped:
        raise Conflict("node.forget_answers", node=name)


def check_drain_reason(text: str) -> str:
    """Returns the reason on one line. Raises Refused if it is empty, because people who look later need to know why the
    node is drained.
    """
    reason = check_text(" ".join(text.split()), "reason", LONGEST_REASON)
    if not reason:
        raise Refused("reason", "node.reason_missing")
    return reason
