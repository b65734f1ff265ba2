"""A scheduling pass starts jobs, and gives each other one its reason."""

from dataclasses import replace
from datetime import datetime

import pytest

from cluster.domain.placement.queue_order import sort_queue
from cluster.domain.placement.scheduling_pass import PlacementInput
from cluster.domain.placement.types import (
    JobToPlace,
    NodeUnits,
    NotPlaced,
    Placement,
    RunningOnNode,
    WorkspaceQuota,
)
from cluster.domain.queue.reasons import (
    AheadInQueue,
    DatasetNotReady,
    EnvironmentNotReady,
    NodeClosedByKubernetes,
    NodesTooSmall,
    NoExecutor,
    NoNodes,
    NotEnoughUnits,
    OnlyNodesDraining,
    OnlyNodesLost,
    OnlyNodesUnreachable,
    QuotaInUse,
    QuotaTooSmall,
    ReservedForAnother,
    WaitingReason,
)
from cluster.domain.queue.start_estimate import StartEstimate
from cluster.domain.states import NodeState, UnitKind
from tests.unit.cluster.domain.placement.sample_clusters import SLOT, minutes, node, place

CLOSED = {"code": "kubernetes.closed", "data": {}}


def kept_out(node: NodeUnits) -> NodeUnits:
    """Its agent is well, and Kubernetes starts nothing there."""
    return replace(node, kept_out=CLOSED)


def test_three_jobs_on_two_units_two_run_and_one_waits() -> None:
    decisions = place(
        [JobToPlace(1, 1, 1), JobToPlace(2, 1, 1), JobToPlace(3, 1, 1)],
        [node(1, 2)],
        {1: WorkspaceQuota(4, 0)},
    )
    assert decisions == [
        Placement(1, ((1, (100,)),)),
        Placement(2, ((1, (101,)),)),
        NotPlaced(
            3, NotEnoughUnits(1, 0, "gc1", SLOT, nodes=1), StartEstimate(freed_by=1, starts_on_node="gc1")
        ),
    ]


def test_all_units_or_none() -> None:
    decisions = place([JobToPlace(1, 1, 2)], [node(1, 1, total=2)], {1: WorkspaceQuota(2, 0)})
    assert decisions == [
        NotPlaced(
            1, NotEnoughUnits(2, 1, "gc1", SLOT), StartEstimate(helps_units=1, kind=SLOT, starts_on_node=None)
        )
    ]


def test_a_gang_is_not_split_over_nodes() -> None:
    (decision,) = place(
        [JobToPlace(1, 1, 3)], [node(1, 2, total=4), node(2, 2, total=4)], {1: WorkspaceQuota(8, 0)}
    )
    assert isinstance(decision, NotPlaced)
    assert decision.reason == NotEnoughUnits(3, 2, "gc1", SLOT, nodes=2)


def test_the_fullest_node_on_which_it_fits_is_chosen() -> None:
    decisions = place(
        [JobToPlace(1, 1, 2), JobToPlace(2, 1, 4)], [node(1, 4), node(2, 2)], {1: WorkspaceQuota(8, 0)}
    )
    assert decisions == [Placement(1, ((2, (200, 201)),)), Placement(2, ((1, (100, 101, 102, 103)),))]


def test_the_quota_holds_although_units_are_free() -> None:
    (decision,) = place([JobToPlace(1, 1, 2)], [node(1, 4)], {1: WorkspaceQuota(4, 3)})
    assert decision == NotPlaced(1, QuotaInUse(4, 3, 2, SLOT), StartEstimate(helps_units=1, kind=SLOT))


def test_units_are_called_as_the_nodes_that_have_any_call_them() -> None:
    """A master that only directs has none, and nothing is known of their kind."""
    master = replace(node(1, 0), kind=UnitKind.GPU)
    (decision,) = place([JobToPlace(1, 1, 2)], [master, node(2, 4)], {1: WorkspaceQuota(4, 3)})
    assert isinstance(decision, NotPlaced) and decision.reason == QuotaInUse(4, 3, 2, SLOT)


def test_a_workspace_without_quota_runs_nothing() -> None:
    (decision,) = place([JobToPlace(1, 1, 1)], [node(1, 4)], {})
    assert decision == NotPlaced(1, QuotaTooSmall(0, 1, SLOT))


def test_first_come_first_served_within_a_priority() -> None:
    heads = [JobToPlace(3, 1, 1), JobToPlace(1, 1, 1), JobToPlace(2, 1, 1, priority=5)]
    assert [d.job_id for d in place(heads, [node(1, 3)], {1: WorkspaceQuota(3, 0)})] == [2, 1, 3]


def test_who_waits_is_not_overtaken_in_the_own_workspace() -> None:
    heads = [JobToPlace(1, 1, 2), JobToPlace(2, 1, 1), JobToPlace(3, 1, 1)]
    decisions = place(heads, [node(1, 1, total=2)], {1: WorkspaceQuota(2, 0)})
    assert [decision.reason for decision in decisions if isinstance(decision, NotPlaced)] == [
        NotEnoughUnits(2, 1, "gc1", SLOT),
        AheadInQueue(1, 1),
        AheadInQueue(2, 1),
    ]
    assert isinstance(decisions[2], NotPlaced)
    assert decisions[2].outlook == StartEstimate(ahead=2, first_ahead=1)


def test_small_jobs_of_others_do_not_keep_a_large_one_waiting_for_ever() -> None:
    heads = [JobToPlace(1, 1, 2), JobToPlace(2, 2, 1)]
    decisions = place(heads, [node(1, 1, total=2)], {1: WorkspaceQuota(2, 0), 2: WorkspaceQuota(1, 0)})
    assert isinstance(decisions[1], NotPlaced)
    assert decisions[1].reason == ReservedForAnother(1, "gc1")


def test_a_job_blocked_by_its_quota_keeps_nothing_from_others() -> None:
    heads = [JobToPlace(1, 1, 2), JobToPlace(2, 2, 1)]
    decisions = place(heads, [node(1, 2)], {1: WorkspaceQuota(2, 1), 2: WorkspaceQuota(1, 0)})
    assert decisions[1] == Placement(2, ((1, (100,)),))


@pytest.mark.parametrize("blocked", [DatasetNotReady("digits", 0.5), EnvironmentNotReady("default", 0.2)])
def test_who_waits_for_something_else_lets_others_pass(blocked: WaitingReason) -> None:
    decisions = place(
        [JobToPlace(1, 1, 1, blocked_by=blocked), JobToPlace(2, 1, 1)],
        [node(1, 1)],
        {1: WorkspaceQuota(2, 0)},
    )
    assert decisions == [NotPlaced(1, blocked), Placement(2, ((1, (100,)),))]


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([], NoNodes(2)),
        ([node(1, 2, state=NodeState.NO_EXECUTOR)], NoExecutor("gc1")),
        ([node(1, 2, state=NodeState.UNREACHABLE)], OnlyNodesUnreachable("gc1")),
        (
            [node(1, 2, state=NodeState.NO_EXECUTOR), node(2, 2, state=NodeState.UNREACHABLE)],
            OnlyNodesUnreachable("gc2"),
        ),
        ([node(1, 2, state=NodeState.DRAINING)], OnlyNodesDraining("gc1")),
        ([node(1, 2, state=NodeState.LOST)], OnlyNodesLost("gc1")),
        ([node(1, 1), node(2, 8, state=NodeState.UNREACHABLE)], OnlyNodesUnreachable("gc2")),
        ([node(1, 1), node(2, 8, state=NodeState.DRAINING)], OnlyNodesDraining("gc2")),
        ([node(1, 1), node(2, 8, state=NodeState.NO_EXECUTOR)], NodesTooSmall(2, 1, "gc1", SLOT)),
        ([node(1, 1), node(2, 1, state=NodeState.LOST)], NodesTooSmall(2, 1, "gc1", SLOT)),
        ([kept_out(node(1, 2))], NodeClosedByKubernetes("gc1", CLOSED)),
        ([node(1, 1), kept_out(node(2, 8))], NodeClosedByKubernetes("gc2", CLOSED)),
        ([node(1, 1), kept_out(node(2, 1))], NodesTooSmall(2, 1, "gc1", SLOT)),
        ([node(1, 0)], NodesTooSmall(2, 0, "gc1", SLOT)),
    ],
)
def test_nodes_that_cannot_run_it(nodes: list[NodeUnits], reason: WaitingReason) -> None:
    (decision,) = place([JobToPlace(1, 1, 2)], nodes, {1: WorkspaceQuota(4, 0)})
    assert isinstance(decision, NotPlaced)
    assert decision.reason == reason


@pytest.mark.parametrize(
    ("running", "outlook"),
    [
        ([], StartEstimate(helps_units=1, kind=SLOT)),
        (
            [RunningOnNode(7, 2, 1, 1, minutes(20)), RunningOnNode(8, 2, 1, 2, minutes(10))],
            StartEstimate(freed_by=7, starts_at=minutes(20), starts_on_node="gc1", helps_units=1, kind=SLOT),
        ),
        (
            [RunningOnNode(7, 2, 1, 1, None), RunningOnNode(8, 2, 1, 3, minutes(10))],
            StartEstimate(freed_by=8, starts_at=minutes(10), starts_on_node="gc1", helps_units=1, kind=SLOT),
        ),
        (
            [RunningOnNode(7, 2, 1, 1, minutes(5)), RunningOnNode(8, 2, 1, 3, None)],
            StartEstimate(freed_by=8, starts_on_node="gc1", helps_units=1, kind=SLOT),
        ),
    ],
)
def test_what_frees_the_units_and_when(running: list[RunningOnNode], outlook: StartEstimate) -> None:
    (decision,) = place([JobToPlace(1, 1, 4)], [node(1, 1, total=4)], {1: WorkspaceQuota(4, 0)}, running)
    assert isinstance(decision, NotPlaced)
    assert decision.outlook == outlook


def test_the_node_that_is_free_first_is_named() -> None:
    running = [
        RunningOnNode(7, 2, 1, 4, minutes(30)),
        RunningOnNode(8, 2, 2, 4, minutes(10)),
        RunningOnNode(9, 2, 3, 1),
    ]
    nodes = [node(1, 0, total=4), node(2, 0, total=4), node(3, 0, total=1)]
    (decision,) = place([JobToPlace(1, 1, 4)], nodes, {1: WorkspaceQuota(4, 0)}, running)
    assert isinstance(decision, NotPlaced)
    assert decision.outlook == StartEstimate(freed_by=8, starts_at=minutes(10), starts_on_node="gc2")


def test_what_frees_the_quota_is_a_job_of_the_own_workspace() -> None:
    running = [RunningOnNode(7, 2, 1, 4, minutes(1)), RunningOnNode(8, 1, 1, 2, minutes(10))]
    (decision,) = place([JobToPlace(1, 1, 1)], [node(1, 2, total=8)], {1: WorkspaceQuota(2, 2)}, running)
    assert isinstance(decision, NotPlaced)
    assert decision.outlook == StartEstimate(freed_by=8, starts_at=minutes(10), starts_on_node="gc1")


def test_workspaces_take_turns_by_who_came_first() -> None:
    heads = [JobToPlace(1, 1, 1), JobToPlace(2, 2, 1), JobToPlace(3, 1, 1, priority=9), JobToPlace(4, 2, 1)]
    assert [head.job_id for head in sort_queue(heads, {})] == [2, 3, 4, 1]


def test_who_could_be_promised_nothing_is_not_passed() -> None:
    """The only large node is promised away for ever, so nobody can say what would delay the second job."""
    heads = [JobToPlace(1, 1, 4), JobToPlace(2, 2, 4), JobToPlace(3, 2, 1, seconds=60.0, limit_seconds=60.0)]
    running = [RunningOnNode(9, 3, 1, 4)]
    decisions = place(
        heads, [node(1, 0, total=4), node(2, 1)], {1: WorkspaceQuota(4, 0), 2: WorkspaceQuota(5, 0)}, running
    )
    assert decisions[0].job_id == 1
    assert decisions[2] == NotPlaced(3, AheadInQueue(1, 2), StartEstimate(ahead=1, first_ahead=2))


def test_who_has_a_limit_passes_a_promise_that_it_cannot_delay() -> None:
    """The example of docs/topic/queue.md: four units, two of them free until 14:00."""
    limit = {"seconds": 1830.0, "limit_seconds": 1830.0}
    heads = [JobToPlace(10, 1, 4), JobToPlace(11, 1, 2), JobToPlace(12, 1, 2, **limit)]  # type: ignore[arg-type]
    decisions = place(
        heads, [node(1, 2, total=4)], {1: WorkspaceQuota(4, 2)}, [RunningOnNode(9, 1, 1, 2, minutes(60))]
    )
    assert decisions[0] == NotPlaced(
        10,
        QuotaInUse(4, 2, 4, SLOT),
        StartEstimate(freed_by=9, starts_at=minutes(60), starts_on_node="gc1", helps_units=2, kind=SLOT),
    )
    assert decisions[1] == NotPlaced(11, AheadInQueue(1, 10), StartEstimate(ahead=1, first_ahead=10))
    assert decisions[2] == Placement(12, ((1, (100, 101)),), is_backfill=True)


@pytest.mark.parametrize(
    ("ends_at", "seconds", "limit", "passes"),
    [
        (minutes(60), 600.0, 3600.0, True),
        (minutes(60), 600.0, 3601.0, False),
        (minutes(60), 600.0, None, False),  # An expectation is no promise.
        (None, 600.0, 600.0, False),  # The moment may be the next.
    ],
)
def test_who_may_pass_a_promise_of_another_workspace(
    ends_at: datetime | None, seconds: float, limit: float | None, passes: bool
) -> None:
    heads = [JobToPlace(1, 1, 4), JobToPlace(2, 2, 2, seconds=seconds, limit_seconds=limit)]
    running = [RunningOnNode(9, 3, 1, 2, ends_at)]
    decisions = place(
        heads, [node(1, 2, total=4)], {1: WorkspaceQuota(4, 0), 2: WorkspaceQuota(4, 0)}, running
    )
    assert isinstance(decisions[1], Placement) is passes
    if isinstance(decisions[1], NotPlaced):
        assert decisions[1].reason == ReservedForAnother(1, "gc1")


def test_two_unknown_ends_are_two_moments() -> None:
    """The first of them is enough for job 1: what is free now is not left over beside its promise."""
    heads, running = (
        [JobToPlace(1, 1, 2), JobToPlace(2, 2, 1)],
        [RunningOnNode(8, 3, 1, 1), RunningOnNode(9, 3, 1, 2)],
    )
    decisions = place(
        heads, [node(1, 1, total=4)], {1: WorkspaceQuota(4, 0), 2: WorkspaceQuota(4, 0)}, running
    )
    assert isinstance(decisions[1], NotPlaced)
    assert decisions[1].reason == ReservedForAnother(1, "gc1")


def test_a_job_that_is_only_asked_about_takes_the_place_of_the_own_ones() -> None:
    own = [JobToPlace(1, 1, 4)]
    board = PlacementInput(own, [node(1, free=4)], {1: WorkspaceQuota(4, 0)}, [], minutes(0))
    (placed,) = board.decide()
    assert isinstance(placed, Placement) and placed.job_id == 1
    (asked,) = board.decide([JobToPlace(2, 1, 2)])
    assert isinstance(asked, Placement) and (asked.job_id, len(asked.unit_ids)) == (2, 2)
    (refused,) = board.decide(quotas={1: WorkspaceQuota(2, 0)})
    assert not isinstance(refused, Placement)
    assert board.decide() == [placed]
