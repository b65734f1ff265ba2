"""Workspaces as objects of a real API server: made, followed, put right, made again, and nobody else's touched."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.domain.kubernetes.workspace_namespace import GPU_RESOURCE, WorkspaceNamespace
from tests.free_ports import free_port
from tests.kubernetes.api_server import ADMINISTRATOR, ApiServer, until
from worker.kubernetes.api_client import (
    ApiRefused,
    ApiUnreachable,
    KubernetesApi,
    KubernetesObject,
    ObjectList,
)
from worker.kubernetes.namespaces.sync import ChangeKind, NamespaceSync, ObjectChange, SyncReport
from worker.kubernetes.namespaces.workspace_objects import KINDS_IN_ORDER, workspace_objects
from worker.kubernetes.object_names import LOCAL_QUEUE, workspace_namespace

NUMBERS = itertools.count(700)
HERE = "tests"


@pytest.fixture
def keeper(server: ApiServer) -> NamespaceSync:
    return NamespaceSync(server.api, HERE)


@pytest.fixture
def speech(keeper: NamespaceSync) -> Iterator[WorkspaceNamespace]:
    """A workspace with four units whose objects stand."""
    tenancy = WorkspaceNamespace(next(NUMBERS), "speech", 4, True)
    keeper.sync([tenancy])
    yield tenancy


def named(kept: SyncReport) -> list[tuple[ChangeKind, str, str]]:
    return [(change.kind, change.key[0], change.key[2]) for change in kept.changes]


def queue_of(server: ApiServer, tenancy: WorkspaceNamespace) -> KubernetesObject:
    queue = server.api.get("ClusterQueue", workspace_namespace(tenancy.workspace))
    assert queue
    return queue


def pod(name: str, namespace: str, **container: object) -> KubernetesObject:
    restricted = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "run", "image": "i", "securityContext": restricted, **container}]},
    }


def test_a_workspace_gets_all_its_objects_and_a_second_look_writes_nothing(
    server: ApiServer, keeper: NamespaceSync
) -> None:
    tenancy = WorkspaceNamespace(next(NUMBERS), "vision", 2, True)
    first = keeper.sync([tenancy])
    assert not first.refusals
    made = {change.key for change in first.changes if change.workspace == tenancy.workspace}
    assert {kind for kind, _, _ in made} == set(KINDS_IN_ORDER) - {"ResourceFlavor"}
    assert all(
        change.kind is ChangeKind.MADE for change in first.changes if change.key[0] != "ServiceAccount"
    )
    assert keeper.sync([tenancy]) == SyncReport()
    assert NamespaceSync(server.api, HERE).sync([tenancy]) == SyncReport()


def test_the_term_is_the_quota_of_kueue_and_of_kubernetes(
    server: ApiServer, speech: WorkspaceNamespace
) -> None:
    spec = queue_of(server, speech)["spec"]
    quotas = {
        each["name"]: each["nominalQuota"] for each in spec["resourceGroups"][0]["flavors"][0]["resources"]
    }
    assert (quotas[GPU_RESOURCE], spec["stopPolicy"]) == ("4", "None")
    quota = server.api.get("ResourceQuota", "term", workspace_namespace(speech.workspace))
    assert quota and quota["spec"]["hard"][f"requests.{GPU_RESOURCE}"] == "4"


def test_after_the_term_nothing_is_admitted_and_everything_stays(
    server: ApiServer, keeper: NamespaceSync, speech: WorkspaceNamespace
) -> None:
    namespace = workspace_namespace(speech.workspace)
    claim = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "data", "namespace": namespace}}
    server.api.apply(claim)
    kept = keeper.sync([WorkspaceNamespace(speech.workspace, "speech", 0, False)])
    assert {(what, kind) for what, kind, _ in named(kept)} == {
        (ChangeKind.FOLLOWED, "ClusterQueue"),
        (ChangeKind.FOLLOWED, "ResourceQuota"),
    }
    assert queue_of(server, speech)["spec"]["stopPolicy"] == "Hold"
    assert server.api.get("ConfigMap", "data", namespace)
    again = keeper.sync([speech])
    assert {what for what, _, _ in named(again)} == {ChangeKind.FOLLOWED}
    assert queue_of(server, speech)["spec"]["stopPolicy"] == "None"


def test_a_quota_that_was_raised_by_hand_is_put_right_and_says_what_and_by_whom(
    server: ApiServer, keeper: NamespaceSync, speech: WorkspaceNamespace
) -> None:
    namespace = workspace_namespace(speech.workspace)
    patch = {"spec": {"hard": {f"requests.{GPU_RESOURCE}": "400", "count/pods": "3"}}}
    assert server.api.patch("ResourceQuota", "term", namespace, patch)
    kept = keeper.sync([speech])
    assert named(kept) == [(ChangeKind.PUT_RIGHT, "ResourceQuota", "term")]
    change = kept.changes[0]
    assert change.is_by_hand and [each.to_data() for each in change.differences] == [
        {"path": "spec hard count/pods", "found": "3", "wanted": None},
        {"path": f"spec hard requests.{GPU_RESOURCE}", "found": "400", "wanted": "4"},
    ]
    quota = server.api.get("ResourceQuota", "term", namespace)
    assert quota and quota["spec"]["hard"][f"requests.{GPU_RESOURCE}"] == "4"
    assert "count/pods" not in quota["spec"]["hard"]
    assert keeper.sync([speech]) == SyncReport()


@pytest.mark.parametrize(
    ("kind", "name", "patch"),
    [
        ("NetworkPolicy", "deny", {"spec": {"ingress": [{}]}}),
        ("NetworkPolicy", "own", {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]}}),
        ("NetworkPolicy", "door", {"spec": {"ingress": [{}]}}),
        ("ClusterQueue", "", {"spec": {"cohortName": "everybody", "stopPolicy": "HoldAndDrain"}}),
        ("LocalQueue", LOCAL_QUEUE, {"spec": {"stopPolicy": "Hold"}}),
        ("ServiceAccount", "default", {"automountServiceAccountToken": True}),
        ("Namespace", "", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}),
        ("Namespace", "", {"metadata": {"labels": {"groundcrew.io/part": None}}}),
        ("LimitRange", "modest", {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}}),
    ],
)
def test_whatever_is_loosened_by_hand_is_tight_again(
    server: ApiServer,
    keeper: NamespaceSync,
    speech: WorkspaceNamespace,
    kind: str,
    name: str,
    patch: KubernetesObject,
) -> None:
    namespace = workspace_namespace(speech.workspace)
    where = "" if kind in ("ClusterQueue", "Namespace") else namespace
    assert server.api.patch(kind, name or namespace, where, patch)
    kept = keeper.sync([speech])
    assert named(kept) == [(ChangeKind.PUT_RIGHT, kind, name or namespace)], kept
    assert keeper.sync([speech]) == SyncReport()


def test_what_was_deleted_by_hand_is_made_again_and_said(
    server: ApiServer, keeper: NamespaceSync, speech: WorkspaceNamespace
) -> None:
    assert server.api.delete("NetworkPolicy", "deny", workspace_namespace(speech.workspace))
    assert server.api.delete("ClusterQueue", workspace_namespace(speech.workspace))
    until(lambda: not server.api.get("ClusterQueue", workspace_namespace(speech.workspace)), "its end", 20)
    kept = keeper.sync([speech])
    assert {(what, kind) for what, kind, _ in named(kept)} == {
        (ChangeKind.MADE_AGAIN, "NetworkPolicy"),
        (ChangeKind.MADE_AGAIN, "ClusterQueue"),
    }


def test_a_namespace_that_is_being_deleted_is_waited_for_and_made_anew(
    server: ApiServer, keeper: NamespaceSync, speech: WorkspaceNamespace
) -> None:
    namespace = workspace_namespace(speech.workspace)
    stays = {"name": "stays", "namespace": namespace, "finalizers": ["example.com/held"]}
    server.api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": stays})
    server.api.delete("Namespace", namespace)
    kept = keeper.sync([speech])
    assert kept.deleting == [speech.workspace] and not kept.changes and not kept.refusals
    server.api.patch("ConfigMap", "stays", namespace, {"metadata": {"finalizers": None}})
    until(lambda: not server.api.get("Namespace", namespace), "the end of the namespace", 30)
    assert not keeper.sync([speech]).refusals
    assert keeper.sync([speech]) == SyncReport()
    assert server.api.get("NetworkPolicy", "deny", namespace)


def test_nobody_elses_objects_are_touched(
    server: ApiServer, keeper: NamespaceSync, speech: WorkspaceNamespace
) -> None:
    namespace = workspace_namespace(speech.workspace)
    about = {"name": "theirs", "namespace": namespace}
    other = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": about}
    server.api.apply(other | {"spec": {"podSelector": {}}})
    server.api.patch("Namespace", namespace, "", {"metadata": {"labels": {"team": "blue"}}})
    assert keeper.sync([speech]) == SyncReport()
    assert server.api.get("NetworkPolicy", "theirs", namespace)
    assert keeper.sync([]) == SyncReport()
    assert server.api.get("Namespace", namespace)


def test_two_installations_do_not_quarrel(
    server: ApiServer, keeper: NamespaceSync, speech: WorkspaceNamespace
) -> None:
    kept = NamespaceSync(server.api, "another").sync([speech])
    assert not kept.changes and [refusal.status for refusal in kept.refusals] == [409]
    assert keeper.sync([speech]) == SyncReport()


def test_a_namespace_that_somebody_else_made_under_our_name_stays_theirs(
    server: ApiServer, keeper: NamespaceSync
) -> None:
    tenancy = WorkspaceNamespace(next(NUMBERS), "taken", 1, True)
    server.add_namespace(workspace_namespace(tenancy.workspace), team="blue")
    kept = keeper.sync([tenancy])
    assert [(refusal.key[0], refusal.status) for refusal in kept.refusals] == [("Namespace", 409)]
    there = server.api.get("Namespace", workspace_namespace(tenancy.workspace))
    assert there and "pod-security.kubernetes.io/enforce" not in there["metadata"]["labels"]


def test_a_pod_security_that_is_enforced_refuses_what_it_has_to(
    server: ApiServer, speech: WorkspaceNamespace
) -> None:
    namespace = workspace_namespace(speech.workspace)
    with pytest.raises(ApiRefused, match="restricted"):
        server.api.create(pod("root", namespace, securityContext={}))
    made = server.api.create(pod("modest", namespace))
    assert made["spec"]["containers"][0]["resources"]["limits"]["memory"] == "1Gi"
    assert not [each for each in made["spec"].get("volumes", ()) if "projected" in each]


def test_kubernetes_itself_refuses_more_units_than_the_term_has(
    server: ApiServer, speech: WorkspaceNamespace
) -> None:
    namespace = workspace_namespace(speech.workspace)
    until(lambda: quota_is_known(server, namespace), "the quota's first count", 30)
    greedy = pod("greedy", namespace, resources={"limits": {GPU_RESOURCE: "5"}})

    def is_refused() -> bool:
        """The API server hears of its own quotas a moment later."""
        try:
            server.api.create(greedy)
        except ApiRefused as refusal:
            return "exceeded quota: term" in refusal.message
        server.api.delete("Pod", "greedy", namespace, grace_seconds=0)
        return False

    until(is_refused, "that more units are refused than the term has", 30)


def quota_is_known(server: ApiServer, namespace: str) -> bool:
    """No controller counts here: the test plays it."""
    hard = {f"requests.{GPU_RESOURCE}": "4"}
    status = {"status": {"hard": hard, "used": {f"requests.{GPU_RESOURCE}": "0"}}}
    return bool(server.api.patch("ResourceQuota", "term", namespace, status, part="status"))


def test_while_the_api_server_is_away_nothing_is_concluded(
    server: ApiServer, speech: WorkspaceNamespace, tmp_path: Path
) -> None:
    keeper = NamespaceSync(server.api, HERE)
    keeper.sync([speech])
    stood = set(keeper.present)
    away = tmp_path / "away.conf"
    away.write_text(server.kubeconfig(ADMINISTRATOR).read_text().replace(str(server.port), str(free_port())))
    keeper.api = KubernetesApi(away)
    with pytest.raises(ApiUnreachable):
        keeper.sync([speech])
    assert keeper.present == stood
    keeper.api = server.api
    assert keeper.sync([speech]) == SyncReport()


def test_a_right_that_is_lacking_is_said_and_stops_nobody_else(server: ApiServer) -> None:
    tenancy = WorkspaceNamespace(next(NUMBERS), "alone", 1, True)

    class Powerless(NamespaceSync):
        def read(self) -> dict[tuple[str, str, str], KubernetesObject]:
            return {}

    class Half:
        """May write everything but queues."""

        def list_all(self, kind: str, labels: str = "") -> ObjectList:
            return server.api.list_all(kind, labels)

        def get(self, kind: str, name: str, namespace: str = "") -> KubernetesObject | None:
            return server.api.get(kind, name, namespace)

        def apply(self, thing: KubernetesObject) -> KubernetesObject:
            if thing["kind"] == "ClusterQueue":
                raise ApiRefused(403, "Forbidden", "clusterqueues is forbidden")
            return server.api.apply(thing)

    kept = Powerless(Half(), HERE).sync([tenancy])  # type: ignore[arg-type]
    assert [(refusal.key[0], refusal.status) for refusal in kept.refusals] == [("ClusterQueue", 403)]
    assert server.api.get("LocalQueue", LOCAL_QUEUE, workspace_namespace(tenancy.workspace))


def test_a_look_costs_nine_questions_however_many_workspaces_there_are(server: ApiServer) -> None:
    asked: list[str] = []

    class Counting:
        def list_all(self, kind: str, labels: str = "") -> object:
            asked.append(kind)
            return server.api.list_all(kind, labels)

        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"{name} was not to be asked")

    many = [WorkspaceNamespace(next(NUMBERS), f"w{number}", 1, True) for number in range(5)]
    NamespaceSync(server.api, HERE).sync(many)
    assert NamespaceSync(Counting(), HERE).sync(many) == SyncReport()  # type: ignore[arg-type]
    assert asked == [*KINDS_IN_ORDER, "Node"]


def test_every_change_knows_its_workspace(keeper: NamespaceSync) -> None:
    tenancy = WorkspaceNamespace(next(NUMBERS), "told", 1, True)
    changes: list[ObjectChange] = keeper.sync([tenancy]).changes
    ours = [change for change in changes if change.workspace == tenancy.workspace]
    assert len(ours) == len(workspace_objects(tenancy, HERE))
