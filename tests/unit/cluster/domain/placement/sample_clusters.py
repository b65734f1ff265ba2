"""A few nodes with slots, and what is placed on them at one moment."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from cluster.domain.placement.scheduling_pass import place_jobs as place_now
from cluster.domain.placement.types import (
    JobToPlace,
    NodeUnits,
    PlacementDecision,
    RunningOnNode,
    WorkspaceQuota,
)
from cluster.domain.states import NodeState, UnitKind

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
SLOT = UnitKind.CPU_SLOT


def node(number: int, free: int, total: int | None = None, state: NodeState = NodeState.READY) -> NodeUnits:
    ids = tuple(range(number * 100, number * 100 + free))
    return NodeUnits(number, f"gc{number}", state, SLOT, ids, free if total is None else total)


def place(
    heads: Sequence[JobToPlace],
    nodes: Sequence[NodeUnits],
    quotas: Mapping[int, WorkspaceQuota],
    running: Sequence[RunningOnNode] = (),
    spread: bool = False,
) -> list[PlacementDecision]:
    return list(place_now(heads, nodes, quotas, running, NOW, spread))


def minutes(number: int) -> datetime:
    return NOW + timedelta(minutes=number)
