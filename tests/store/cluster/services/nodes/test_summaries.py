"""The list of nodes comes in pages: what needs a person first, then by name."""

from datetime import timedelta

import pytest

from cluster.domain.states import JobState, NodeState, UnitState
from cluster.services.context import Cluster
from cluster.services.nodes.queries import read_node
from cluster.services.nodes.summaries import list_node_page, list_node_summaries
from cluster.services.nodes.totals import NodeFilter
from cluster.store.nodes import Node
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding
from tests.conftest import Clock

ORDER = ["lost", "silent", "drained", "bare", "broken", "a", "b", "c"]


@pytest.fixture
def nodes(cluster: Cluster, clock: Clock) -> dict[str, Node]:
    nodes = {name: a_node(cluster, 2, name, has_executor=name != "bare") for name in sorted(ORDER)}
    with cluster.store.write() as session:
        session.get_one(Node, nodes["lost"].id).lost_at = clock()
        session.get_one(Node, nodes["silent"].id).heartbeat_at = clock() - timedelta(minutes=1)
        session.get_one(Node, nodes["drained"].id).draining_since = clock()
        session.get_one(Node, nodes["broken"].id).units[1].state = UnitState.BROKEN
    return nodes


@pytest.mark.parametrize("length", [1, 3, 7, 8, 9])
def test_pages_follow_each_other_without_gaps(cluster: Cluster, nodes: dict[str, Node], length: int) -> None:
    reader, names, after = actor_of(a_user(cluster)), list[str](), None
    for _ in range(len(ORDER) // length + 1):
        page = list_node_page(cluster, reader, NodeFilter(), after, length)
        names += [node.name for node in page.nodes]
        after = page.next_after
        if after is None:
            break
    assert names == ORDER and after is None


def test_a_page_is_narrowed_and_an_unknown_position_is_the_beginning(
    cluster: Cluster, nodes: dict[str, Node]
) -> None:
    reader = actor_of(a_user(cluster))
    page = list_node_page(cluster, reader, NodeFilter(state=NodeState.READY), nodes["a"].id, 50)
    assert [node.name for node in page.nodes] == ["b", "c"]
    assert len(list_node_page(cluster, reader, NodeFilter("B"), 999, 50).nodes) == 3


def test_a_summary_counts_what_the_node_itself_counts(cluster: Cluster, nodes: dict[str, Node]) -> None:
    manager = a_user(cluster)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster, manager)), state=JobState.RUNNING)
    holding(
        cluster, job, [nodes["a"].units[1], nodes["b"].units[0], nodes["b"].units[1], nodes["c"].units[0]]
    )
    with cluster.store.write() as session:
        session.get_one(Node, nodes["c"].id).units[0].state = UnitState.GONE
        session.get_one(Node, nodes["silent"].id).units[0].state = UnitState.GONE
    reader = actor_of(a_user(cluster))
    for summary in list_node_summaries(cluster):
        view = read_node(cluster, reader, summary.id)
        assert (summary.unit_count, summary.free_count, summary.broken_count, summary.state) == (
            view.unit_count,
            view.free_count,
            view.broken_count,
            view.state,
        )
        assert (summary.held_count, summary.job_ids) == (view.held_count, view.job_ids)
