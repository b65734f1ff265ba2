"""Free units of nodes and quotas: what is taken, kept for others, and when enough will be free."""

from datetime import datetime, timedelta
from math import inf

import pytest

from cluster.domain.placement.free_capacity import FreeCapacity, running_on_node
from cluster.domain.placement.types import JobToPlace, NodeUnits, RunningOnNode, WorkspaceQuota
from cluster.domain.states import NodeState
from tests.unit.cluster.domain.placement.sample_clusters import NOW, minutes, node

AT = NOW.timestamp()
QUOTAS = {1: WorkspaceQuota(8, 0), 2: WorkspaceQuota(2, 0)}


def capacity(
    *nodes: NodeUnits, running: tuple[RunningOnNode, ...] = (), spread: bool = False
) -> FreeCapacity:
    return FreeCapacity(nodes, QUOTAS, running, NOW, spread)


def run(job_id: int, node_id: int, units: int, ends_at: datetime | None, workspace: int = 1) -> RunningOnNode:
    return RunningOnNode(job_id, workspace, node_id, units, ends_at, latest_at=ends_at)


def head(units: int, limit: float | None = 3600.0, job_id: int = 9, workspace: int = 1) -> JobToPlace:
    return JobToPlace(job_id, workspace, units, seconds=limit, limit_seconds=limit)


@pytest.mark.parametrize(
    ("units", "spread", "chosen"),
    [
        (1, False, [(2, 1)]),  # The node that it leaves least of.
        (3, False, [(1, 3)]),
        (5, False, []),
        (5, True, [(1, 4), (2, 1)]),
        (7, True, []),
    ],
)
def test_units_are_chosen_on_one_node_or_on_several(
    units: int, spread: bool, chosen: list[tuple[int, int]]
) -> None:
    free = capacity(node(1, free=4), node(2, free=2), spread=spread)
    found = [(each.node_id, count) for each, count in free.choose_nodes(units, None)]
    assert found == chosen


def test_a_node_that_takes_no_jobs_offers_nothing() -> None:
    free = capacity(node(1, free=4, state=NodeState.DRAINING), node(2, free=1))
    assert [offer.node.node_id for offer in free.node_offers(None)] == [2]


def test_units_that_are_taken_are_free_no_longer_and_count_against_the_quota() -> None:
    free = capacity(node(1, free=4))
    placed = free.take_units(head(3), free.choose_nodes(3, None), False)
    assert placed.nodes == ((1, (100, 101, 102)),) and placed.job_id == 9
    assert free.free[1] == [103]
    assert free.share(1).free == 5 and free.share(2).free == 2
    assert free.choose_nodes(2, None) == []


def test_a_workspace_without_a_quota_may_have_nothing() -> None:
    assert capacity(node(1, free=4)).share(77).free == 0


@pytest.mark.parametrize(("limit", "fits"), [(600.0, True), (7200.0, False), (None, False)])
def test_a_reservation_leaves_room_for_what_ends_before_it(limit: float | None, fits: bool) -> None:
    first = node(1, free=2, total=4)
    free = capacity(first, running=(run(5, 1, 2, minutes(60)),))
    free.reserve(head(4), minutes(60).timestamp(), [(first, 4)])
    assert bool(free.choose_nodes(2, limit)) is fits
    free.clear_reservations()
    assert free.choose_nodes(2, limit)


def test_the_earliest_fit_is_the_first_end_after_which_enough_is_free() -> None:
    runs = (run(5, 1, 2, minutes(30)), run(6, 1, 1, minutes(10)), run(7, 2, 2, minutes(20)))
    free = capacity(node(1, free=1, total=4), node(2, free=0, total=2), running=runs)
    for units, minute, node_id in ((1, 0, 1), (2, 10, 1), (3, 30, 1), (4, 30, 1)):
        moment, nodes = free.earliest_fit_for(units, AT)
        assert (moment, [each.node_id for each, _ in nodes]) == (minutes(minute).timestamp(), [node_id])


@pytest.mark.parametrize(
    ("ends", "node_id"),
    [
        ((30,), 2),  # Its own run frees node 2 then; node 1 is free until nobody knows when.
        ((20, 30), 3),  # Of its own runs the one that is waited for, not one that is over before.
    ],
)
def test_a_full_workspace_waits_for_what_its_own_run_frees(ends: tuple[int, ...], node_id: int) -> None:
    nodes = [node(1, free=1, total=1), node(2, free=0, total=1), node(3, free=0, total=1)]
    runs = [run(5 + place, 2 + place, 1, minutes(end)) for place, end in enumerate(ends)]
    others = [run(8, 3, 1, minutes(10), workspace=2)] if len(ends) == 1 else []
    free = capacity(*nodes, running=(*runs, *others))
    moment, found = free.earliest_fit_for(1, minutes(30).timestamp(), workspace_id=1)
    assert (moment, [each.node_id for each, _ in found]) == (minutes(30).timestamp(), [node_id])


def test_what_starts_in_this_pass_is_waited_for_where_it_runs() -> None:
    free = capacity(node(1, free=1, total=1), node(2, free=2, total=2))
    free.take_units(head(1, limit=600.0), [(free.ready[2], 1)], False)
    _, found = free.earliest_fit_for(2, minutes(10).timestamp(), workspace_id=1)
    assert [each.node_id for each, _ in found] == [2]


def test_a_gang_fits_once_all_nodes_together_have_enough() -> None:
    runs = (run(5, 1, 2, minutes(30)), run(7, 2, 2, minutes(20)))
    free = capacity(node(1, free=2, total=4), node(2, free=0, total=2), running=runs, spread=True)
    moment, nodes = free.earliest_fit_for(6, AT)
    assert (moment, {each.node_id: count for each, count in nodes}) == (
        minutes(30).timestamp(),
        {1: 4, 2: 2},
    )
    assert free.earliest_fit_for(7, AT) == (inf, [])


def test_the_job_whose_end_is_waited_for_is_named() -> None:
    first = node(1, free=0, total=2)
    free = capacity(first, running=(run(5, 1, 1, minutes(30)), run(6, 1, 1, minutes(10))))
    waited_for = free.job_ending_at(minutes(30).timestamp(), 1, [(first, 2)])
    assert waited_for is not None and waited_for.job_id == 5
    assert free.job_ending_at(minutes(31).timestamp(), 1, [(first, 2)]) is None


@pytest.mark.parametrize(("units", "most"), [(8, 4), (4, 3), (1, None)])
def test_fewer_units_with_which_it_would_start_now(units: int, most: int | None) -> None:
    assert capacity(node(1, free=4), node(2, free=2)).most_units_now(head(units)) == most


def test_at_a_later_moment_the_units_of_ended_jobs_are_free() -> None:
    runs = (run(5, 1, 2, minutes(30)), run(6, 1, 1, minutes(60)))
    free = FreeCapacity([node(1, free=1, total=4)], {1: WorkspaceQuota(8, 3)}, runs, NOW, False)
    free.advance_to(minutes(30), {5})
    assert len(free.free[1]) == 3 and free.share(1).free == 7
    assert len(set(free.free[1])) == 3
    assert free.now == minutes(30)


def test_units_are_free_until_the_reservation_begins() -> None:
    first = node(1, free=2, total=2)
    free = capacity(first)
    free.reserve(head(2, job_id=4), AT + 600.0, [(first, 2)])
    assert free.longest_free_seconds(head(1)) == 600.0
    assert free.longest_free_seconds(head(3)) == 0.0


@pytest.mark.parametrize(
    ("seconds", "limit", "ends_in", "latest_in"),
    [(60.0, 3600.0, 60.0, 3600.0), (None, 3600.0, 3600.0, 3600.0), (None, None, None, None)],
)
def test_a_run_ends_as_expected_or_at_its_limit(
    seconds: float | None, limit: float | None, ends_in: float | None, latest_in: float | None
) -> None:
    job = JobToPlace(9, 1, 2, seconds=seconds, limit_seconds=limit)
    found = running_on_node(job, 7, 2, NOW)
    assert found.ends_at == (None if ends_in is None else NOW + timedelta(seconds=ends_in))
    assert found.latest_at == (None if latest_in is None else NOW + timedelta(seconds=latest_in))
