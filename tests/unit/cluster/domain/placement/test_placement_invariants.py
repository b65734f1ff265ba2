"""No input at all breaks the four promises of a placement."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cluster.domain.placement.types import JobToPlace, NodeUnits, NotPlaced, Placement, WorkspaceQuota
from cluster.domain.queue.reasons import DatasetNotReady, NotEnoughUnits
from cluster.domain.states import NodeState
from tests.unit.cluster.domain.placement.sample_clusters import node, place

heads_of = st.lists(
    st.builds(
        JobToPlace,
        job_id=st.integers(1, 60),
        workspace_id=st.integers(1, 4),
        units=st.integers(1, 9),
        priority=st.integers(-2, 2),
        blocked_by=st.sampled_from([None, None, None, DatasetNotReady("digits")]),
    ),
    max_size=25,
    unique_by=lambda head: head.job_id,
)
nodes_of = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 4), st.sampled_from(list(NodeState))), max_size=5
).map(lambda rows: [node(i, free, free + held, state) for i, (free, held, state) in enumerate(rows, 1)])
quotas_of = st.dictionaries(
    st.integers(1, 4), st.builds(WorkspaceQuota, limit=st.integers(0, 12), used=st.integers(0, 6))
)

single_node = st.tuples(st.integers(1, 8), st.integers(0, 4)).map(lambda row: node(1, row[0], sum(row)))
wide_quotas = st.fixed_dictionaries(
    {each: st.builds(WorkspaceQuota, st.integers(4, 12), st.just(0)) for each in range(1, 5)}
)
"""Most heads may start then, or wait for units alone."""


@given(heads_of, nodes_of, quotas_of)
def test_no_unit_twice_no_quota_passed_all_or_nothing(
    heads: list[JobToPlace], nodes: list[NodeUnits], quotas: dict[int, WorkspaceQuota]
) -> None:
    decisions = place(heads, nodes, quotas)
    assert sorted(decision.job_id for decision in decisions) == sorted(head.job_id for head in heads)
    by_id = {head.job_id: head for head in heads}
    free = {n.node_id: set(n.free) for n in nodes if n.state is NodeState.READY}
    given_out: Counter[int] = Counter()
    used: Counter[int] = Counter()
    for decision in decisions:
        if isinstance(decision, Placement):
            head = by_id[decision.job_id]
            assert head.blocked_by is None
            assert len(decision.unit_ids) == head.units
            assert set(decision.unit_ids) <= free[decision.node_id]
            given_out.update(decision.unit_ids)
            used[head.workspace_id] += head.units
    assert not given_out or max(given_out.values()) == 1
    for workspace, units in used.items():
        assert units + quotas[workspace].used <= quotas[workspace].limit


@given(heads_of, single_node, wide_quotas)
def test_who_waits_first_for_free_units_of_a_single_node_is_left_enough_by_all_who_pass(
    heads: list[JobToPlace], single: NodeUnits, quotas: dict[int, WorkspaceQuota]
) -> None:
    """Nobody here has a limit, so that whoever passes may stay for ever. Whose turn is next comes then."""
    by_id = {head.job_id: head for head in heads}
    free, first, passed = len(single.free), 0, 0
    for decision in place(heads, [single], quotas):
        head = by_id[decision.job_id]
        if isinstance(decision, Placement):
            passed += head.units if first else 0
        elif isinstance(decision.reason, NotEnoughUnits) and head.units <= free:
            first = first or head.units
    assert first + passed <= free


@given(heads_of, single_node, wide_quotas)
def test_a_workspace_whose_foremost_job_needs_units_of_which_nobody_knows_the_end_waits_with_it(
    heads: list[JobToPlace], single: NodeUnits, quotas: dict[int, WorkspaceQuota]
) -> None:
    by_id = {head.job_id: head for head in heads}
    free = len(single.free)
    waits: set[int] = set()
    for decision in place(heads, [single], quotas):
        head = by_id[decision.job_id]
        if isinstance(decision, Placement):
            assert head.workspace_id not in waits
        elif isinstance(decision.reason, NotEnoughUnits) and head.units > free:
            waits.add(head.workspace_id)


@given(heads_of, nodes_of, quotas_of, st.randoms())
def test_the_order_of_the_input_does_not_matter(
    heads: list[JobToPlace], nodes: list[NodeUnits], quotas: dict[int, WorkspaceQuota], random: st.DataObject
) -> None:
    shuffled = list(heads)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert place(shuffled, list(reversed(nodes)), quotas) == place(heads, nodes, quotas)


@given(heads_of, nodes_of, quotas_of)
def test_with_the_units_that_are_said_to_help_it_would_start(
    heads: list[JobToPlace], nodes: list[NodeUnits], quotas: dict[int, WorkspaceQuota]
) -> None:
    by_id = {head.job_id: head for head in heads}
    for decision in place(heads, nodes, quotas):
        if isinstance(decision, NotPlaced) and decision.outlook.helps_units:
            head = by_id[decision.job_id]
            smaller = JobToPlace(head.job_id, head.workspace_id, decision.outlook.helps_units, head.priority)
            others = [other for other in heads if other.job_id != head.job_id]
            again = {each.job_id: each for each in place([*others, smaller], nodes, quotas)}
            assert isinstance(again[head.job_id], Placement)
