"""The scheduler's account may do what its role says, and nothing elsewhere."""

from collections.abc import Iterator

import pytest

from tests.kube_api.access import objects
from tests.kubernetes.api_server import SCHEDULER, ApiServer, until
from worker.kubernetes.api_client import ApiRefused, KubernetesApi, KubernetesObject
from worker.kubernetes.object_kinds import object_head


@pytest.fixture
def scheduler(server: ApiServer, with_rights: None) -> Iterator[KubernetesApi]:
    api = KubernetesApi(server.kubeconfig(SCHEDULER))
    yield api
    api.close()


WORKSPACE = "gc-workspace-78"
SECURITY = "pod-security.kubernetes.io"
NOT_ITS_OWN, NOT_RESTRICTED = "nothing but its workspaces", "Pod Security calls restricted"
NOT_A_FOLDER = "an export, or a folder beneath"


def space(name: str, **labels: str) -> KubernetesObject:
    found = {f"{SECURITY}/{key.replace('_', '-')}": value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": found}}


def volume(
    path: str, name: str = "gc-here-workspace-78", claimed: str = WORKSPACE, kind: str = "local"
) -> KubernetesObject:
    nodes = [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}]
    spec: KubernetesObject = {
        "capacity": {"storage": "1Ti"},
        "accessModes": ["ReadWriteMany"],
        "claimRef": {"namespace": claimed, "name": "workspace"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": nodes}},
        kind: {"path": path, **({"server": "10.0.0.5"} if kind == "nfs" else {})},
    }
    return object_head("PersistentVolume", name) | {"spec": spec}


REFUSED = [
    (space("kube-system"), NOT_ITS_OWN),
    (space("another", enforce="restricted"), NOT_ITS_OWN),
    (space(WORKSPACE), NOT_RESTRICTED),
    (space(WORKSPACE, enforce="privileged"), NOT_RESTRICTED),
    (space(WORKSPACE, enforce="restricted", enforce_version="v1.0"), NOT_RESTRICTED),
    (object_head("ResourceFlavor", "cpu") | {"spec": {}}, NOT_ITS_OWN),
    (object_head("ClusterQueue", "others") | {"spec": {}}, NOT_ITS_OWN),
    (volume("/srv/data", name="others"), NOT_ITS_OWN),
    (volume("/srv/data", claimed="kube-system"), NOT_A_FOLDER),
    (volume("/srv/data", kind="hostPath"), NOT_A_FOLDER),
    (volume("/"), NOT_A_FOLDER),
    (volume("/etc"), NOT_A_FOLDER),
    (volume("/srvother"), NOT_A_FOLDER),
    (volume("/srv/data/../../etc"), "must not contain '..'"),
]


def refusal_of(scheduler: KubernetesApi, thing: KubernetesObject) -> str:
    try:
        scheduler.apply(thing)
    except ApiRefused as refusal:
        return refusal.message
    return ""


@pytest.fixture(scope="module")
def in_force(server: ApiServer, with_rights: None) -> None:
    """A policy is looked at a moment after it was written."""
    api = KubernetesApi(server.kubeconfig(SCHEDULER))
    until(
        lambda: refusal_of(api, volume("/etc", name="gc-first-workspace-78")), "that the policy is in force"
    )
    api.close()
    server.api.delete("PersistentVolume", "gc-first-workspace-78")


@pytest.mark.parametrize(("thing", "why"), REFUSED)
def test_outside_of_namespaces_it_makes_nothing_but_workspaces(
    in_force: None, scheduler: KubernetesApi, thing: KubernetesObject, why: str
) -> None:
    assert why in refusal_of(scheduler, thing)


def test_what_a_workspace_is_made_of_it_may_make(
    in_force: None, server: ApiServer, scheduler: KubernetesApi
) -> None:
    made = [
        space(WORKSPACE, enforce="restricted", enforce_version="latest"),
        volume("/srv/data"),
        volume("/srv", name="gc-here-path-0123456789ab-78"),
        volume("/anywhere", name="gc-there-workspace-78", kind="nfs"),
    ]
    assert [refusal_of(scheduler, thing) for thing in made] == [""] * len(made)
    for thing in made:
        server.api.delete(thing["kind"], thing["metadata"]["name"])


def test_it_deletes_no_volume_but_those_of_workspaces(
    in_force: None, server: ApiServer, scheduler: KubernetesApi
) -> None:
    server.api.apply(volume("/srv/data", name="others"))
    server.api.apply(volume("/srv/data", name="gc-here-path-0123456789ab-79"))
    with pytest.raises(ApiRefused, match=NOT_ITS_OWN):
        scheduler.delete("PersistentVolume", "others")
    assert scheduler.delete("PersistentVolume", "gc-here-path-0123456789ab-79")
    with pytest.raises(ApiRefused) as refusal:
        scheduler.delete("Namespace", "default")
    assert refusal.value.status == 403
    server.api.delete("PersistentVolume", "others")


def note(namespace: str) -> KubernetesObject:
    return object_head("ConfigMap", "gc-test-note", namespace) | {"data": {}}


def test_it_changes_nothing_outside_of_workspaces(server: ApiServer, scheduler: KubernetesApi) -> None:
    """Also where the role, which has to be good in all namespaces, would let it."""
    server.add_namespace("gc-workspace-77")
    scheduler.create(note("gc-workspace-77"))

    def is_refused() -> bool:
        try:
            scheduler.create(note("default"))
        except ApiRefused as refusal:
            assert "outside of its workspaces" in refusal.message
            return True
        server.api.delete("ConfigMap", "gc-test-note", "default")
        return False

    until(is_refused, "that the policy is in force")
    assert server.api.get("ConfigMap", "gc-test-note", "default") is None


@pytest.mark.parametrize("kind", ["Secret", "RoleBinding", "ClusterRole"])
def test_it_reads_no_secret_and_gives_no_rights(scheduler: KubernetesApi, kind: str) -> None:
    with pytest.raises(ApiRefused) as refusal:
        scheduler.list_all(kind)
    assert refusal.value.status == 403


def test_every_rule_names_what_it_is_for() -> None:
    (role,) = [thing for thing in objects() if thing["kind"] == "ClusterRole"]
    for rule in role["rules"]:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]], rule
        assert "secrets" not in rule["resources"] and "escalate" not in rule["verbs"]
