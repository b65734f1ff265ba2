"""The state of a node as SQL, by the rules of `cluster.domain.nodes.node_state.node_state_of`."""

from datetime import datetime

from sqlalchemy import ColumnElement, and_, case, false, func, literal, or_

from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.nodes.node_state import UNREACHABLE_AFTER
from cluster.domain.states import NodeState
from cluster.store.base import enum_column
from cluster.store.nodes import Node

STATE = enum_column(NodeState)


def is_silent(now: datetime) -> ColumnElement[bool]:
    return or_(Node.heartbeat_at.is_(None), Node.heartbeat_at < now - UNREACHABLE_AFTER)


def node_state_column(now: datetime) -> ColumnElement[NodeState]:
    """One state, the gravest first."""
    return case(
        (Node.lost_at.is_not(None), literal(NodeState.LOST, STATE)),
        (is_silent(now), literal(NodeState.UNREACHABLE, STATE)),
        (Node.has_executor.is_(False), literal(NodeState.NO_EXECUTOR, STATE)),
        (Node.draining_since.is_(None), literal(NodeState.READY, STATE)),
        else_=literal(NodeState.DRAINING, STATE),
    )


def is_kept_out(standing: KubernetesStatus | None, now: datetime) -> ColumnElement[bool]:
    """Whether Kubernetes starts nothing on a ready node, as `KubernetesStatus.kept_out` decides."""
    if standing is None or not standing.nodes:
        return false()
    usable = [node.name for node in standing.nodes if node.kept_out is None]
    return and_(node_state_column(now) == NodeState.READY, func.lower(Node.name).not_in(usable))
