"""One turn of the watch beside the scheduler, at a real API server: workspaces kept, strangers named, silence borne."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.kubernetes.workspace_namespace import GPU_RESOURCE
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.audit import entries as audit
from cluster.services.context import Cluster
from cluster.services.kubernetes import status
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.workspaces import lifecycle
from cluster.store.workspaces import Workspace
from tests.builders import a_workspace, actor_of, an_administrator
from tests.free_ports import free_port
from tests.kubernetes.api_server import ADMINISTRATOR, NOBODY, SCHEDULER, ApiServer
from worker.kubernetes.api_client import KubernetesApi, KubernetesObject
from worker.kubernetes.object_names import workspace_namespace
from worker.scheduling.kubernetes_watch import KubernetesWatch

HERE = "watched"


@pytest.fixture
def lab(light_cluster: Cluster) -> Cluster:
    return light_cluster


@pytest.fixture
def speech(lab: Cluster) -> Workspace:
    """With a number that no other test's has: they share the server."""
    return a_workspace(lab, units=4, name="speech", id=9000 + free_port())


@pytest.fixture
def held(lab: Cluster) -> HeldLease:
    lease = acquire_lease(lab, "scheduler", "me", timedelta(days=30))
    assert lease
    return lease


@pytest.fixture
def watch(lab: Cluster, server: ApiServer) -> Iterator[KubernetesWatch]:
    watch = KubernetesWatch(lab, server.api, lambda: HERE, pause_seconds=0)
    yield watch
    watch.close()


def look(watch: KubernetesWatch, held: HeldLease) -> KubernetesStatus:
    """Two turns: the first asks, the second writes what came of it, and asks again."""
    if watch.pending_report:
        watch.pending_report.result(60)
        watch.advance(held)
    watch.advance(held)
    assert watch.pending_report
    watch.pending_report.result(60)
    watch.advance(held)
    standing = status.read_kubernetes_status(watch.cluster)
    assert standing
    return standing


def stop_policy(server: ApiServer, workspace: Workspace) -> object:
    queue = server.api.get("ClusterQueue", workspace_namespace(workspace.id))
    return queue and queue["spec"]["stopPolicy"]


def test_a_term_that_ends_closes_the_queue_and_is_no_change_by_hand(
    lab: Cluster, server: ApiServer, watch: KubernetesWatch, held: HeldLease, speech: Workspace
) -> None:
    look(watch, held)
    assert stop_policy(server, speech) == "None"
    chief = actor_of(an_administrator(lab))
    lifecycle.end_workspace(lab, chief, speech.id)
    look(watch, held)
    assert stop_policy(server, speech) == "Hold"
    assert not audit.list_audit_entries(lab, chief, action="workspace.put_right")


def test_what_was_put_right_stands_in_the_access_log(
    lab: Cluster, server: ApiServer, watch: KubernetesWatch, held: HeldLease, speech: Workspace
) -> None:
    look(watch, held)
    patch = {"spec": {"hard": {f"requests.{GPU_RESOURCE}": "400"}}}
    assert server.api.patch("ResourceQuota", "term", workspace_namespace(speech.id), patch)
    look(watch, held)
    chief = actor_of(an_administrator(lab))
    (entry,) = audit.list_audit_entries(lab, chief, action="workspace.put_right")
    assert entry.object_id == speech.id and entry.data["differences"][0]["found"] == "400"
    look(watch, held)
    assert len(audit.list_audit_entries(lab, chief, action="workspace.put_right")) == 1


def test_whoever_changes_the_same_at_every_look_stands_there_once(
    lab: Cluster, server: ApiServer, watch: KubernetesWatch, held: HeldLease, speech: Workspace
) -> None:
    """Somebody's own controller, which never tires: the access log is for people."""
    look(watch, held)
    for found in ("400", "400", "500"):
        assert watch.pending_report and watch.pending_report.result(60)
        patch = {"spec": {"hard": {f"requests.{GPU_RESOURCE}": found}}}
        assert server.api.patch("ResourceQuota", "term", workspace_namespace(speech.id), patch)
        watch.advance(held)
    assert watch.pending_report and watch.pending_report.result(60)
    watch.advance(held)
    entries = audit.list_audit_entries(lab, actor_of(an_administrator(lab)), action="workspace.put_right")
    assert sorted(entry.data["differences"][0]["found"] for entry in entries) == ["400", "500"]


def a_strangers_pod(server: ApiServer, namespace: str, name: str) -> KubernetesObject:
    return server.api.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "nodeName": "gpu07",
                "containers": [{"name": "c", "image": "i", "resources": {"limits": {GPU_RESOURCE: "2"}}}],
            },
        }
    )


def test_a_strangers_pod_is_named_to_the_administrator_and_forgotten_with_its_end(
    lab: Cluster, server: ApiServer, watch: KubernetesWatch, held: HeldLease, namespace: str
) -> None:
    a_strangers_pod(server, namespace, "trainer")
    seen = look(watch, held).seen
    chief = actor_of(an_administrator(lab))
    mine = f"{namespace}/trainer"
    assert mine in [concern.subject for concern in list_alerts(lab, chief)]
    server.api.delete("Pod", "trainer", namespace, grace_seconds=0)
    after = look(watch, held)
    assert mine not in [each.subject for each in after.disagreements] and after.seen >= seen >= 1


def test_nodes_and_operators_stand_as_the_api_server_has_them(
    server: ApiServer, watch: KubernetesWatch, held: HeldLease
) -> None:
    name = f"gpu-{free_port()}"
    server.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "…"}
    server.api.patch("Node", name, "", {"status": {"conditions": [ready]}}, part="status")
    standing = look(watch, held)
    node = standing.node(name)
    assert node and node.problem and node.problem["code"] == "kubernetes.node_silent"
    server.api.delete("Node", name)


def test_an_api_server_that_is_away_is_no_event(
    lab: Cluster,
    server: ApiServer,
    watch: KubernetesWatch,
    held: HeldLease,
    speech: Workspace,
    tmp_path: Path,
) -> None:
    before = look(watch, held)
    watch.pending_report and watch.pending_report.result(60)
    away = tmp_path / "away.conf"
    away.write_text(server.kubeconfig(ADMINISTRATOR).read_text().replace(str(server.port), str(free_port())))
    there, watch.namespace_sync.api = watch.namespace_sync.api, KubernetesApi(away)
    silent = look(watch, held)
    assert silent.silent_since and silent.nodes == before.nodes and silent.operators == before.operators
    watch.namespace_sync.api = there
    assert look(watch, held).silent_since is None
    assert not audit.list_audit_entries(lab, actor_of(an_administrator(lab)), action="workspace.made_again")


def test_the_rights_that_the_scheduler_is_given_are_enough(
    lab: Cluster, server: ApiServer, with_rights: None, held: HeldLease, speech: Workspace
) -> None:
    watch = KubernetesWatch(lab, KubernetesApi(server.kubeconfig(SCHEDULER)), lambda: HERE, pause_seconds=0)
    patch = {"spec": {"hard": {"count/pods": "3"}}}
    try:
        first = look(watch, held)
        assert server.api.patch("ResourceQuota", "term", workspace_namespace(speech.id), patch)
        second = look(watch, held)
    finally:
        watch.close()
    ours = ("disagreement.closed_door", "disagreement.not_kept")
    assert not [each for each in (*first.disagreements, *second.disagreements) if each.code in ours]
    quota = server.api.get("ResourceQuota", "term", workspace_namespace(speech.id))
    assert quota and "count/pods" not in quota["spec"]["hard"]


def test_an_account_without_rights_says_so_and_writes_nothing(
    lab: Cluster, server: ApiServer, held: HeldLease, speech: Workspace
) -> None:
    watch = KubernetesWatch(lab, KubernetesApi(server.kubeconfig(NOBODY)), lambda: HERE, pause_seconds=0)
    try:
        standing = look(watch, held)
    finally:
        watch.close()
    (door,) = standing.disagreements
    assert door.code == "disagreement.closed_door" and door.data["status"] == 403


def test_between_looks_only_a_workspace_that_changes_is_news(
    lab: Cluster, server: ApiServer, held: HeldLease, speech: Workspace
) -> None:
    watch = KubernetesWatch(lab, server.api, lambda: HERE, pause_seconds=3600)
    try:
        watch.advance(held)
        assert watch.pending_report
        watch.pending_report.result(60)
        watch.advance(held)
        assert watch.pending_report is None
        other = a_workspace(lab, name="vision", id=speech.id + 100_000)
        watch.advance(held)
        assert watch.pending_report
        watch.pending_report.result(60)
    finally:
        watch.close()
    assert stop_policy(server, other) == "None"
