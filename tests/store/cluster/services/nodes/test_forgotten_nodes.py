"""A node that was removed is forgotten with its units, its alerts and its token; its past jobs stay."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, NotFound
from cluster.domain.states import JobState, NodeState
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.context import Cluster
from cluster.services.nodes import drains, forgotten_nodes, heartbeats, queries, summaries, totals
from cluster.services.nodes.node_tokens import create_node_token, read_node_token
from cluster.services.placement.capacity import read_node_units
from cluster.store.audit import AuditEntry
from cluster.store.nodes import Node, count_offered_units
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, an_administrator, holding
from tests.conftest import Clock, RecordingBell


def make_silent(cluster: Cluster, node: Node, clock: Clock) -> None:
    clock.now += timedelta(minutes=30)
    with cluster.store.write() as session:
        session.get_one(Node, node.id).lost_at = clock.now


def test_a_dead_node_leaves_lists_terms_and_alerts(
    cluster: Cluster, clock: Clock, bell: RecordingBell
) -> None:
    node, chief = a_node(cluster, 4, name="gpu07"), actor_of(an_administrator(cluster))
    token = create_node_token(cluster, "gpu07", True)
    make_silent(cluster, node, clock)
    assert "attention.node_given_up" in [alert.code for alert in list_alerts(cluster, chief)]
    forgotten_nodes.forget_node(cluster, chief, node.id)
    assert queries.list_nodes(cluster, chief) == [] and queries.list_node_states(cluster) == []
    assert summaries.list_node_summaries(cluster) == [] and summaries.list_troubled_nodes(cluster) == []
    assert totals.read_totals_of_everybody(cluster) == ([], [], [])
    assert "attention.node_given_up" not in [alert.code for alert in list_alerts(cluster, chief)]
    with cluster.store.read() as session:
        assert count_offered_units(session) == 0 and read_node_units(session, clock.now) == []
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "node.forgotten")).one()
    assert entry.data == {"name": "gpu07"} and entry.object_id == node.id
    assert read_node_token(cluster, token) is None
    assert ("nodes", node.id) in bell.rung and ("queue", 0) in bell.rung
    with pytest.raises(NotFound):
        queries.read_node(cluster, chief, node.id)
    with pytest.raises(NotFound):
        forgotten_nodes.forget_node(cluster, chief, node.id)


def test_a_node_with_a_job_is_not_forgotten(cluster: Cluster, clock: Clock) -> None:
    node, chief = a_node(cluster, 2), actor_of(an_administrator(cluster))
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    make_silent(cluster, node, clock)
    with pytest.raises(Conflict) as refused:
        forgotten_nodes.forget_node(cluster, chief, node.id)
    assert (refused.value.code, refused.value.data["jobs"]) == ("node.forget_jobs_run", f"job-{job.id}")


def test_a_node_that_answers_is_drained_first(cluster: Cluster) -> None:
    node, chief = a_node(cluster, name="gpu08"), actor_of(an_administrator(cluster))
    with pytest.raises(Forbidden):
        forgotten_nodes.forget_node(cluster, actor_of(a_user(cluster)), node.id)
    with pytest.raises(Conflict) as refused:
        forgotten_nodes.forget_node(cluster, chief, node.id)
    assert refused.value.code == "node.forget_answers"
    drains.drain_node(cluster, chief, node.id, "sold")
    forgotten_nodes.forget_node(cluster, chief, node.id)
    assert queries.list_nodes(cluster, chief) == []


def test_a_machine_that_is_installed_again_comes_back(cluster: Cluster) -> None:
    node, chief = a_node(cluster, 1, name="gpu09"), actor_of(an_administrator(cluster))
    forgotten_nodes.forget_node_by_name(cluster, chief, "gpu09", is_stopped=True)
    assert not forgotten_nodes.forget_node_by_name(cluster, chief, "gpu09")
    unit = node.units[0]
    seen = heartbeats.ReportedUnit(unit.identity, unit.kind, unit.position)
    heartbeats.record_heartbeat(cluster, "gpu09", "boot-2", {}, [seen])
    view = queries.read_node(cluster, chief, node.id)
    assert view.state is NodeState.READY and view.free_count == 1
