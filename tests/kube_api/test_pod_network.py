"""A node's watcher at a real API server, with the rights that its role gives it and no others."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from cluster.domain.kubernetes.pod_network import LEASE_NAMESPACE, NetworkMembers, renewed_leases
from tests.kubernetes.api_server import SCHEDULER, WATCHER, ApiServer, until
from tests.unit.roles.rendering import render
from worker.kubernetes.api_client import ApiRefused, KubernetesApi, KubernetesObject
from worker.kubernetes.object_kinds import object_head
from worker.kubernetes.pod_network import NodeRules, PodNetworkWatch

SPACE = "gc-workspace-77"


class Rules(NodeRules):
    """Keeps what the packet filter would be told."""

    members = NetworkMembers()

    def tell(self, members: NetworkMembers) -> bool:
        self.members = members
        return True


@pytest.fixture(scope="module")
def watcher(server: ApiServer) -> Iterator[KubernetesApi]:
    server.add_namespace("groundcrew")
    for thing in yaml.safe_load_all(render("pod_network", "account.yaml")):
        if thing["kind"] in ("ClusterRoleBinding", "RoleBinding"):
            thing["subjects"] = [{"kind": "User", "name": WATCHER, "apiGroup": "rbac.authorization.k8s.io"}]
        server.api.apply(thing)
    api = KubernetesApi(server.kubeconfig(WATCHER))
    until(lambda: can_list(api), "that the rights are in force")
    yield api
    api.close()
    # Others' nodes have no watcher; while nobody renews a lease nothing is concluded from that.
    for lease in server.api.list_all("Lease", namespace=LEASE_NAMESPACE).things:
        server.api.delete("Lease", lease["metadata"]["name"], LEASE_NAMESPACE)


def can_list(api: KubernetesApi) -> bool:
    try:
        return bool(api.list_all("Pod")) and bool(api.list_all("Node"))
    except ApiRefused:
        return False


def pod(name: str, node: str) -> KubernetesObject:
    container = {"name": "c", "image": "none"}
    about = {"name": name, "namespace": SPACE}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": about,
        "spec": {"nodeName": node, "containers": [container], "automountServiceAccountToken": False},
    }


def begin(server: ApiServer, name: str, address: str, phase: str = "Running") -> None:
    """As the kubelet says it."""
    status = {"status": {"phase": phase, "podIP": address, "podIPs": [{"ip": address}]}}
    server.api.patch("Pod", name, SPACE, status, part="status")


def remote(rules: Rules) -> Sequence[str]:
    return sorted(rules.members.remote.get(77, ()))


def test_it_hears_at_once_of_pods_that_begin_and_end(
    server: ApiServer, watcher: KubernetesApi, tmp_path: Path
) -> None:
    server.add_namespace(SPACE)
    server.api.create(pod("there", "w2"))
    begin(server, "there", "10.244.2.5")
    rules = Rules(tmp_path)
    watch = PodNetworkWatch(watcher, "w1", rules)
    with ThreadPoolExecutor(1) as beside:
        following = beside.submit(watch.follow, 20)
        until(lambda: remote(rules) == ["10.244.2.5"], "that the list is told", 10)
        for name, node, address in (("new", "w3", "10.244.3.5"), ("here", "w1", "10.244.1.5")):
            server.api.create(pod(name, node))
            begin(server, name, address)
        until(lambda: remote(rules) == ["10.244.2.5", "10.244.3.5"], "that a pod that begins is told", 5)
        begin(server, "there", "10.244.2.5", "Succeeded")
        until(lambda: remote(rules) == ["10.244.3.5"], "that a pod that has ended is told", 5)
        server.api.delete("Pod", "new", SPACE, grace_seconds=0)
        until(lambda: remote(rules) == [], "that a pod that is gone is told", 5)
        following.result(60)


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "Service", "Namespace"])
def test_it_reads_nothing_else(watcher: KubernetesApi, kind: str) -> None:
    with pytest.raises(ApiRefused) as refusal:
        watcher.list_all(kind)
    assert refusal.value.status == 403


def test_it_changes_nothing(watcher: KubernetesApi) -> None:
    with pytest.raises(ApiRefused) as refusal:
        watcher.create(pod("mine", "w1"))
    assert refusal.value.status == 403


def test_the_scheduler_sees_from_its_lease_that_it_hears_of_pods(
    server: ApiServer, with_rights: None, watcher: KubernetesApi, tmp_path: Path
) -> None:
    """A second look at once renews it; in other namespaces than ours it writes none."""
    watch = PodNetworkWatch(watcher, "w7", Rules(tmp_path))
    scheduler = KubernetesApi(server.kubeconfig(SCHEDULER))
    for _ in range(2):
        before = datetime.now(UTC)
        watch.follow(1)
        renewed = renewed_leases(scheduler.list_all("Lease", namespace=LEASE_NAMESPACE).things)
        assert renewed["w7"] >= before
    scheduler.close()
    with pytest.raises(ApiRefused) as refusal:
        watcher.apply(object_head("Lease", "kube-scheduler", "kube-system") | {"spec": {}})
    assert refusal.value.status == 403
