"""The database keeps the status of Kubernetes that the scheduler has seen, and administrators are told of troubles."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from cluster import words
from cluster.domain.executors import ExecutorKind
from cluster.domain.kubernetes.disagreements import Disagreement
from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus
from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from cluster.domain.states import JobState
from cluster.services.audit import entries
from cluster.services.context import Cluster
from cluster.services.kubernetes import status
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.nodes.queries import list_nodes
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, an_administrator, holding
from tests.conftest import RecordingBell
from tests.integration.worker.scheduling.conftest import as_environment

STRANGER = Disagreement(
    "disagreement.stranger",
    "default/trainer",
    "gpu07",
    {"pod": "default/trainer", "node": "gpu07", "units": 2, "kind": "gpu"},
)
SILENT = {"code": "kubernetes.node_silent", "data": {"node": "w1", "said": "?"}}


@pytest.fixture
def held(cluster: Cluster) -> HeldLease:
    lease = acquire_lease(cluster, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    return lease


def test_what_was_seen_is_read_as_it_was(cluster: Cluster, held: HeldLease) -> None:
    assert status.read_kubernetes_status(cluster) is None
    standing = KubernetesStatus(
        cluster.clock(), (KubernetesNodeStatus("gpu07", True, True),), disagreements=(STRANGER,), seen=1
    )
    assert status.record_kubernetes_status(cluster, held, standing)
    assert status.read_kubernetes_status(cluster) == standing


def test_only_news_rings(cluster: Cluster, held: HeldLease, bell: RecordingBell) -> None:
    status.record_kubernetes_status(cluster, held, KubernetesStatus(cluster.clock()))
    rung = len(bell.rung)
    assert not status.record_kubernetes_status(
        cluster, held, KubernetesStatus(cluster.clock() + timedelta(seconds=10))
    )
    assert len(bell.rung) == rung
    assert status.record_kubernetes_status(
        cluster, held, KubernetesStatus(cluster.clock(), disagreements=(STRANGER,))
    )
    assert len(bell.rung) == rung + 1


def test_a_gang_waits_for_a_node_that_was_closed_in_kubernetes(cluster: Cluster, held: HeldLease) -> None:
    """Placed there its pods would wait until the start has failed."""
    spreading = replace(cluster, settings=replace(cluster.settings, executor=ExecutorKind.KUBERNETES))
    as_environment(cluster)
    for name in ("W1", "w2"):
        a_node(cluster, name=name, units=2)
    training = a_training(cluster, a_workspace(cluster, units=8))
    gang, small = (a_job(cluster, training, units=units).id for units in (4, 1))
    open_, closed = KubernetesNodeStatus("w2", True, True), KubernetesNodeStatus("w1", True, False)
    status.record_kubernetes_status(cluster, held, KubernetesStatus(cluster.clock(), (closed, open_)))
    place_waiting_jobs(spreading, held)
    with cluster.store.read() as session:
        waits, runs = session.get_one(Job, gang), session.get_one(Job, small)
        assert waits.waiting_code == "waiting.node_kept_out"
        assert (waits.state, runs.state) == (JobState.WAITING, JobState.STARTING)
        assert session.scalars(select(Attempt)).one().node.name == "w2"
    sentence = words.sentence("waiting.node_kept_out", waits.waiting_data)
    assert sentence.startswith("w1 is closed in Kubernetes") and "uses W1 again" in sentence
    with cluster.store.write() as session:
        session.get_one(Job, small).state = JobState.FINISHED
        session.scalars(select(Allocation)).one().ended_at = cluster.clock()
    status.record_kubernetes_status(
        cluster, held, KubernetesStatus(cluster.clock(), (replace(closed, is_open=True), open_))
    )
    assert len(place_waiting_jobs(spreading, held)) == 1


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        ((), None),
        ((KubernetesNodeStatus("w1", True, True),), None),
        ((KubernetesNodeStatus("w2", True, True),), "kubernetes.node_missing"),
        ((KubernetesNodeStatus("w1", False, False, problem=SILENT),), "kubernetes.node_silent"),
    ],
)
def test_what_keeps_a_node_out_is_on_the_list_of_nodes(
    cluster: Cluster, held: HeldLease, seen: tuple[KubernetesNodeStatus, ...], code: str | None
) -> None:
    a_node(cluster, name="w1")
    status.record_kubernetes_status(cluster, held, KubernetesStatus(cluster.clock(), seen))
    (view,) = list_nodes(cluster, actor_of(an_administrator(cluster)))
    assert (view.kubernetes_problem or {}).get("code") == code
    assert view.can_take_jobs is (code is None)
    assert "said" not in str(view.kubernetes_problem)


def test_who_has_lost_the_lease_writes_nothing(cluster: Cluster, held: HeldLease) -> None:
    stale = replace(held, fence=held.fence - 1)
    with pytest.raises(LeaseLost):
        status.record_kubernetes_status(cluster, stale, KubernetesStatus(cluster.clock()))
    with pytest.raises(LeaseLost):
        status.record_corrections(cluster, stale, [(1, "workspace.put_right", {})])
    assert status.read_kubernetes_status(cluster) is None


def test_another_executor_forgets_what_was_seen(cluster: Cluster, held: HeldLease) -> None:
    status.record_kubernetes_status(
        cluster, held, KubernetesStatus(cluster.clock(), disagreements=(STRANGER,))
    )
    status.delete_kubernetes_status(cluster, held)
    status.delete_kubernetes_status(cluster, held)
    assert status.read_kubernetes_status(cluster) is None


def test_workspaces_have_their_units_for_their_term_alone(cluster: Cluster) -> None:
    today = cluster.clock().date()
    days = {"before": (5, 9), "now": (-1, 9), "after": (-9, -1)}
    made = {
        name: a_workspace(
            cluster, units=4, name=name, starts_on=today + timedelta(first), ends_on=today + timedelta(last)
        ).id
        for name, (first, last) in days.items()
    }
    assert status.list_workspace_namespaces(cluster) == [
        WorkspaceNamespace(made["before"], "before", 0, False),
        WorkspaceNamespace(made["now"], "now", 4, True),
        WorkspaceNamespace(made["after"], "after", 0, False),
    ]


def test_what_was_changed_by_hand_stands_in_the_access_log(cluster: Cluster, held: HeldLease) -> None:
    difference = {"path": "spec hard requests.nvidia.com/gpu", "found": "400", "wanted": "4"}
    data = {
        "object": "ResourceQuota gc-workspace-3/term",
        "differences": [difference],
        "by": ["kubectl-edit"],
    }
    status.record_corrections(cluster, held, [(3, "workspace.put_right", data)])
    (entry,) = entries.list_audit_entries(
        cluster, actor_of(an_administrator(cluster)), action="workspace.put_right"
    )
    assert (entry.actor_name, entry.object_id, entry.data) == ("groundcrew", 3, data)


def test_units_that_shims_report_are_read_from_the_handles_of_running_attempts(cluster: Cluster) -> None:
    node = a_node(cluster, 2)
    training = a_training(cluster, a_workspace(cluster))
    job, other = a_job(cluster, training), a_job(cluster, training)
    first, _ = holding(cluster, job, node.units[:1]), holding(cluster, other, node.units[1:])
    with cluster.store.write() as session:
        session.get_one(Attempt, first.id).handle = {"uid": "x", "gpus": ["GPU-a"]}
    assert status.read_reported_units(cluster) == {job.id: ["GPU-a"]}
