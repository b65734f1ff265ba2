"""Each node is shown with what it offers and what is taken."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cluster.domain.errors import NotFound
from cluster.domain.states import JobState, NodeState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.nodes import heartbeats, queries
from cluster.services.nodes.heartbeats import ReportedUnit
from cluster.services.nodes.summaries import list_troubled_nodes
from cluster.store.nodes import Node
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding
from tests.conftest import Clock

SLOTS = [ReportedUnit(f"cpu-{position}", UnitKind.CPU_SLOT, position) for position in range(2)]


def beat(cluster: Cluster, units: list[ReportedUnit] = SLOTS, boot_id: str = "boot") -> int:
    return heartbeats.record_heartbeat(cluster, "gpu01", boot_id, {"cpus": 2}, units).id


def test_a_broken_unit_is_shown_and_not_offered(cluster: Cluster) -> None:
    broken = ReportedUnit("cpu-1", UnitKind.CPU_SLOT, 1, state=UnitState.BROKEN)
    node_id = beat(cluster, [SLOTS[0], broken])
    view = queries.read_node(cluster, actor_of(a_user(cluster)), node_id)
    assert [unit.is_free for unit in view.units] == [True, False]
    assert queries.count_working_units(cluster) == 1


def test_a_silent_node_is_unreachable_and_keeps_its_booking(cluster: Cluster, clock: Clock) -> None:
    node = a_node(cluster, 2)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    clock.move(minutes=1)
    view = queries.read_node(cluster, actor_of(a_user(cluster)), node.id)
    assert view.state is NodeState.UNREACHABLE
    assert [unit.job_id for unit in view.units] == [job.id, None]


def test_everybody_sees_what_is_taken_but_not_by_whom(cluster: Cluster) -> None:
    manager, stranger = a_user(cluster), a_user(cluster)
    node = a_node(cluster, 2)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster, manager)), state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    seen = queries.list_nodes(cluster, actor_of(manager))[0].units[0]
    assert seen.job is not None and seen.job.workspace.manager_id == manager.id
    hidden = queries.list_nodes(cluster, actor_of(stranger))[0].units[0]
    assert (hidden.job_id, hidden.job) == (job.id, None)


def lose(node: Node, clock: Clock) -> None:
    node.lost_at = clock()


def silence(node: Node, clock: Clock) -> None:
    node.heartbeat_at = clock() - timedelta(seconds=21)


def never_hear(node: Node, clock: Clock) -> None:
    node.heartbeat_at = None


def break_a_unit(node: Node, clock: Clock) -> None:
    node.units[1].state = UnitState.BROKEN


def fill_the_disk(node: Node, clock: Clock) -> None:
    node.facts = {"disk_bytes": 1000, "disk_free_bytes": 99}


def end_a_certificate_soon(node: Node, clock: Clock) -> None:
    end = clock() + timedelta(days=29, hours=23)
    node.facts = {"kubernetes_certificates": {"apiserver": end.isoformat()}}


def change_what_is_no_trouble(node: Node, clock: Clock) -> None:
    node.heartbeat_at = clock() - timedelta(seconds=20)
    node.draining_since = clock()
    node.units[1].state = UnitState.GONE
    end = clock() + timedelta(days=30, hours=1)
    certificates = {"apiserver": end.isoformat(), "no time": "soon", "past all": "9999-12-31T23:59:59-10:00"}
    node.facts = {"disk_bytes": 1000, "disk_free_bytes": 101, "kubernetes_certificates": certificates}


@pytest.mark.parametrize(
    ("change", "is_troubled"),
    [
        (lose, True),
        (silence, True),
        (never_hear, True),
        (break_a_unit, True),
        (fill_the_disk, True),
        (end_a_certificate_soon, True),
        (change_what_is_no_trouble, False),
    ],
)
def test_of_many_nodes_only_those_in_trouble_are_listed(
    cluster: Cluster, clock: Clock, change: Callable[[Node, Clock], None], is_troubled: bool
) -> None:
    nodes = [a_node(cluster, 2) for _ in range(3)]
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, [nodes[0].units[0], nodes[1].units[0]])
    with cluster.store.write() as session:
        change(session.get_one(Node, nodes[1].id), clock)
    troubled = list_troubled_nodes(cluster)
    assert [(view.id, view.job_ids) for view in troubled] == (
        [(nodes[1].id, [job.id])] if is_troubled else []
    )


def test_a_heartbeat_with_room_on_the_disk_ends_the_trouble(cluster: Cluster) -> None:
    for free, count in ((5, 1), (500, 0)):
        heartbeats.record_heartbeat(
            cluster, "gpu01", "boot", {"disk_bytes": 1000, "disk_free_bytes": free}, SLOTS
        )
        assert len(list_troubled_nodes(cluster)) == count


def test_states_are_listed_by_name_without_units(cluster: Cluster, clock: Clock) -> None:
    first = a_node(cluster, 2, name="gpu02")
    clock.move(minutes=1)
    second = a_node(cluster, 2, name="gpu01")
    assert [(node.id, node.name, node.state) for node in queries.list_node_states(cluster)] == [
        (second.id, "gpu01", NodeState.READY),
        (first.id, "gpu02", NodeState.UNREACHABLE),
    ]


def test_an_unknown_node_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFound):
        queries.read_node(cluster, actor_of(a_user(cluster)), 7)
