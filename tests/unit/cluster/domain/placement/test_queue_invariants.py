"""Promises that no queue breaks, played on paper: starts, quotas, gangs, turns, advice."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.domain.placement.infeasible import infeasible_reason
from cluster.domain.placement.queue_order import group_by_workspace, sort_queue
from cluster.domain.placement.scheduling_pass import PlacementInput
from cluster.domain.placement.types import JobToPlace, NotPlaced, Placement, PlacementDecision
from cluster.domain.queue.reasons import JobOnHold
from cluster.domain.states import NodeState
from tests.unit.cluster.domain.placement.queue_simulation import (
    BEGIN,
    Coming,
    World,
    at,
    worlds,
    worlds_with_unknown_ends,
)

HELD = JobOnHold("kim", BEGIN)
often = settings(max_examples=100, deadline=None)


def is_possible(board: PlacementInput, head: JobToPlace) -> bool:
    limit = board.quotas[head.workspace_id].limit
    return head.blocked_by is None and not infeasible_reason(head, board.nodes, limit, board.can_spread)


def foremost(board: PlacementInput, decisions: list[PlacementDecision]) -> dict[int, NotPlaced]:
    """By workspace, what its first job in line is told that could ever start, where it does not start now."""
    told = {decision.job_id: decision for decision in decisions}
    found: dict[int, NotPlaced] = {}
    for head in sort_queue(board.jobs_to_place, board.quotas, lambda head: is_possible(board, head)):
        decision = told[head.job_id]
        if isinstance(decision, NotPlaced) and is_possible(board, head):
            found.setdefault(head.workspace_id, decision)
    return found


@often
@given(worlds)
def test_the_start_promised_to_the_first_is_delayed_by_nobody(world: World) -> None:
    world.play()
    for board, decisions in world.log:
        first = next(iter(foremost(board, decisions).values()), None)
        if first and first.outlook.starts_at:
            assert at(world.started[first.job_id]) <= first.outlook.starts_at


@often
@given(worlds)
def test_no_start_promised_is_delayed_by_those_who_pass(world: World) -> None:
    """Looked at again at once, with everything started that was started, each promise stands."""
    world.play()
    for (board, decisions), afterwards in zip(world.log, world.afterwards, strict=True):
        later = {decision.job_id: decision for decision in afterwards.decide()}
        for told in foremost(board, decisions).values():
            now = later[told.job_id]
            if told.outlook.starts_at and isinstance(now, NotPlaced):
                assert now.outlook.starts_at
                assert now.outlook.starts_at <= told.outlook.starts_at


@often
@given(worlds_with_unknown_ends)
def test_no_unit_twice_no_quota_passed_all_or_nothing_at_any_time(world: World) -> None:
    world.play()
    for board, decisions in world.log:
        free = {node.node_id: set(node.free) for node in board.nodes}
        heads = {head.job_id: head for head in board.jobs_to_place}
        used = Counter({workspace: quota.used for workspace, quota in board.quotas.items()})
        taken: Counter[int] = Counter()
        for decision in decisions:
            if isinstance(decision, Placement):
                head = heads[decision.job_id]
                assert len(decision.unit_ids) == head.units
                assert world.spread or len(decision.nodes) == 1
                assert all(set(units) <= free[node] for node, units in decision.nodes)
                taken.update(decision.unit_ids)
                used[head.workspace_id] += head.units
        assert max(taken.values(), default=0) <= 1
        assert all(used[workspace] <= quota.limit for workspace, quota in board.quotas.items())


@often
@given(worlds_with_unknown_ends)
def test_everybody_who_can_start_starts_at_last(world: World) -> None:
    world.play()
    board = world.board()
    assert not [head for head in world.waiting.values() if is_possible(board, head)]


@often
@given(worlds_with_unknown_ends)
def test_nobody_is_overtaken_in_the_own_line_but_by_who_passes_a_promise(world: World) -> None:
    """Whoever passes leaves the promised units alone: it is over before, or they are there beside it."""
    world.play()
    for board, decisions in world.log:
        told = foremost(board, decisions)
        placed = {decision.job_id for decision in decisions if isinstance(decision, Placement)}
        for workspace, line in group_by_workspace(board.jobs_to_place).items():
            if workspace not in told:
                continue
            place = [head.job_id for head in line].index(told[workspace].job_id)
            for head in line[place + 1 :]:
                if head.job_id in placed:
                    assert_leaves_the_promise_alone(board, decisions, line[place], head)


def assert_leaves_the_promise_alone(
    board: PlacementInput, decisions: list[PlacementDecision], first: JobToPlace, passing: JobToPlace
) -> None:
    told = {decision.job_id: decision for decision in decisions}[first.job_id]
    assert isinstance(told, NotPlaced)
    others = [head for head in board.jobs_to_place if head.job_id != passing.job_id]
    without = {decision.job_id: decision for decision in replace(board, jobs_to_place=others).decide()}
    assert without[first.job_id] == told


@often
@given(worlds_with_unknown_ends, st.randoms(use_true_random=False))
def test_held_jobs_never_start_and_stand_in_nobodys_way(world: World, random: st.DataObject) -> None:
    world.play()
    for board, _ in world.log:
        held = {head.job_id for head in board.jobs_to_place if random.random() < 0.4}  # type: ignore[attr-defined]
        heads = [
            replace(head, blocked_by=HELD) if head.job_id in held else head for head in board.jobs_to_place
        ]
        without = replace(
            board, jobs_to_place=[head for head in board.jobs_to_place if head.job_id not in held]
        ).decide()
        decisions = replace(board, jobs_to_place=heads).decide()
        others = {decision.job_id: decision for decision in decisions if decision.job_id not in held}
        assert others == {decision.job_id: decision for decision in without}
        assert all(
            isinstance(decision, NotPlaced) and decision.reason == HELD
            for decision in decisions
            if decision.job_id in held
        )


@often
@given(worlds_with_unknown_ends, st.lists(st.sampled_from(list(NodeState)), min_size=3, max_size=3))
def test_nothing_starts_on_a_node_that_is_not_ready(world: World, states: list[NodeState]) -> None:
    world.play()
    for board, _ in world.log:
        nodes = [replace(node, state=state) for node, state in zip(board.nodes, states, strict=False)]
        ready = {node.node_id for node in nodes if node.state is NodeState.READY}
        for decision in replace(board, nodes=nodes).decide():
            if isinstance(decision, Placement):
                assert {node for node, _ in decision.nodes} <= ready


@often
@given(worlds_with_unknown_ends)
def test_whoever_follows_the_advice_is_placed(world: World) -> None:
    world.play()
    for board, decisions in world.log:
        for head in board.jobs_to_place:
            told = told_of(list(board.decide_line(head.workspace_id)), head)
            plain = told_of(decisions, head)
            assert isinstance(told, NotPlaced) is isinstance(plain, NotPlaced)
            if not isinstance(told, NotPlaced) or not isinstance(plain, NotPlaced):
                continue
            assert told.reason == plain.reason
            units, seconds = told.outlook.helps_units, told.outlook.helps_seconds
            if units:
                assert starts(board, replace(head, units=units))
                assert not any(
                    starts(board, replace(head, units=more)) for more in range(units + 1, head.units)
                )
            if seconds:
                assert starts(board, replace(head, limit_seconds=float(seconds)))


def told_of(decisions: list[PlacementDecision], head: JobToPlace) -> PlacementDecision:
    return next(decision for decision in decisions if decision.job_id == head.job_id)


def starts(board: PlacementInput, changed: JobToPlace) -> bool:
    heads = [changed if head.job_id == changed.job_id else head for head in board.jobs_to_place]
    return isinstance(told_of(board.decide(heads), changed), Placement)


@often
@given(worlds_with_unknown_ends, st.randoms(use_true_random=False))
def test_the_order_of_the_input_decides_nothing(world: World, random: st.DataObject) -> None:
    world.play()
    for board, decisions in world.log:
        heads, nodes, running = list(board.jobs_to_place), list(board.nodes), list(board.running)
        for many in (heads, nodes, running):
            random.shuffle(many)  # type: ignore[attr-defined]
        assert replace(board, jobs_to_place=heads, nodes=nodes, running=running).decide() == decisions


@pytest.mark.parametrize("has_limit", [True, False])
@pytest.mark.parametrize("is_known", [True, False])
def test_an_endless_stream_of_small_jobs_keeps_no_large_one_waiting(has_limit: bool, is_known: bool) -> None:
    """Each small job is over after 3 s, so after 3 s the whole node can be the large one's."""
    small = [Coming(second, 2, 1, 3, has_limit, is_known) for second in range(60)]
    large = Coming(5, 1, 4, 10, False)
    world = World([4], {1: 4, 2: 4}, sorted([*small, large], key=lambda job: job.second))
    world.play()
    job_id = world.jobs.index(large) + 1
    assert world.started[job_id] <= 5 + 3
