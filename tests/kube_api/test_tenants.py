"""Workspaces as objects of a real API server: made, followed, put right, made again, and nobody else's touched."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.domain.kube.tenancies import UNIT, Tenancy
from tests.api_server import ADMINISTRATOR, ApiServer, until
from tests.ports import free_port
from worker.kube.api import Api, Listed, NoAnswer, Refused, Thing
from worker.kube.names import LOCAL_QUEUE, namespace_of
from worker.kube.tenants.keeping import Change, Keeper, Kept, What
from worker.kube.tenants.objects import KINDS_IN_ORDER, objects_of

NUMBERS = itertools.count(700)
HERE = "tests"


@pytest.fixture
def keeper(server: ApiServer) -> Keeper:
    return Keeper(server.api, HERE)


@pytest.fixture
def speech(keeper: Keeper) -> Iterator[Tenancy]:
    """A workspace with four units whose objects stand."""
    tenancy = Tenancy(next(NUMBERS), "speech", 4, True)
    keeper.keep([tenancy])
    yield tenancy


def named(kept: Kept) -> list[tuple[What, str, str]]:
    return [(change.what, change.key[0], change.key[2]) for change in kept.changes]


def queue_of(server: ApiServer, tenancy: Tenancy) -> Thing:
    queue = server.api.get("ClusterQueue", namespace_of(tenancy.workspace))
    assert queue
    return queue


def pod(name: str, namespace: str, **container: object) -> Thing:
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
    server: ApiServer, keeper: Keeper
) -> None:
    tenancy = Tenancy(next(NUMBERS), "vision", 2, True)
    first = keeper.keep([tenancy])
    assert not first.refusals
    made = {change.key for change in first.changes if change.workspace == tenancy.workspace}
    assert {kind for kind, _, _ in made} == set(KINDS_IN_ORDER) - {"ResourceFlavor"}
    assert all(change.what is What.MADE for change in first.changes if change.key[0] != "ServiceAccount")
    assert keeper.keep([tenancy]) == Kept()
    assert Keeper(server.api, HERE).keep([tenancy]) == Kept()


def test_the_term_is_the_quota_of_kueue_and_of_kubernetes(server: ApiServer, speech: Tenancy) -> None:
    spec = queue_of(server, speech)["spec"]
    quotas = {
        each["name"]: each["nominalQuota"] for each in spec["resourceGroups"][0]["flavors"][0]["resources"]
    }
    assert (quotas[UNIT], spec["stopPolicy"]) == ("4", "None")
    quota = server.api.get("ResourceQuota", "term", namespace_of(speech.workspace))
    assert quota and quota["spec"]["hard"][f"requests.{UNIT}"] == "4"


def test_after_the_term_nothing_is_admitted_and_everything_stays(
    server: ApiServer, keeper: Keeper, speech: Tenancy
) -> None:
    namespace = namespace_of(speech.workspace)
    claim = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "data", "namespace": namespace}}
    server.api.apply(claim)
    kept = keeper.keep([Tenancy(speech.workspace, "speech", 0, False)])
    assert {(what, kind) for what, kind, _ in named(kept)} == {
        (What.FOLLOWED, "ClusterQueue"),
        (What.FOLLOWED, "ResourceQuota"),
    }
    assert queue_of(server, speech)["spec"]["stopPolicy"] == "Hold"
    assert server.api.get("ConfigMap", "data", namespace)
    again = keeper.keep([speech])
    assert {what for what, _, _ in named(again)} == {What.FOLLOWED}
    assert queue_of(server, speech)["spec"]["stopPolicy"] == "None"


def test_a_quota_that_was_raised_by_hand_is_put_right_and_says_what_and_by_whom(
    server: ApiServer, keeper: Keeper, speech: Tenancy
) -> None:
    namespace = namespace_of(speech.workspace)
    patch = {"spec": {"hard": {f"requests.{UNIT}": "400", "count/pods": "3"}}}
    assert server.api.change("ResourceQuota", "term", namespace, patch)
    kept = keeper.keep([speech])
    assert named(kept) == [(What.PUT_RIGHT, "ResourceQuota", "term")]
    change = kept.changes[0]
    assert change.is_by_hand and [each.to_data() for each in change.differences] == [
        {"path": "spec hard count/pods", "found": "3", "wanted": None},
        {"path": f"spec hard requests.{UNIT}", "found": "400", "wanted": "4"},
    ]
    quota = server.api.get("ResourceQuota", "term", namespace)
    assert quota and quota["spec"]["hard"][f"requests.{UNIT}"] == "4"
    assert "count/pods" not in quota["spec"]["hard"]
    assert keeper.keep([speech]) == Kept()


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
    server: ApiServer, keeper: Keeper, speech: Tenancy, kind: str, name: str, patch: Thing
) -> None:
    namespace = namespace_of(speech.workspace)
    where = "" if kind in ("ClusterQueue", "Namespace") else namespace
    assert server.api.change(kind, name or namespace, where, patch)
    kept = keeper.keep([speech])
    assert named(kept) == [(What.PUT_RIGHT, kind, name or namespace)], kept
    assert keeper.keep([speech]) == Kept()


def test_what_was_deleted_by_hand_is_made_again_and_said(
    server: ApiServer, keeper: Keeper, speech: Tenancy
) -> None:
    assert server.api.delete("NetworkPolicy", "deny", namespace_of(speech.workspace))
    assert server.api.delete("ClusterQueue", namespace_of(speech.workspace))
    until(lambda: not server.api.get("ClusterQueue", namespace_of(speech.workspace)), "its end", 20)
    kept = keeper.keep([speech])
    assert {(what, kind) for what, kind, _ in named(kept)} == {
        (What.MADE_AGAIN, "NetworkPolicy"),
        (What.MADE_AGAIN, "ClusterQueue"),
    }


def test_a_namespace_that_is_being_deleted_is_waited_for_and_made_anew(
    server: ApiServer, keeper: Keeper, speech: Tenancy
) -> None:
    namespace = namespace_of(speech.workspace)
    stays = {"name": "stays", "namespace": namespace, "finalizers": ["example.com/held"]}
    server.api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": stays})
    server.api.delete("Namespace", namespace)
    kept = keeper.keep([speech])
    assert kept.going == [speech.workspace] and not kept.changes and not kept.refusals
    server.api.change("ConfigMap", "stays", namespace, {"metadata": {"finalizers": None}})
    until(lambda: not server.api.get("Namespace", namespace), "the end of the namespace", 30)
    assert not keeper.keep([speech]).refusals
    assert keeper.keep([speech]) == Kept()
    assert server.api.get("NetworkPolicy", "deny", namespace)


def test_nobody_elses_objects_are_touched(server: ApiServer, keeper: Keeper, speech: Tenancy) -> None:
    namespace = namespace_of(speech.workspace)
    about = {"name": "theirs", "namespace": namespace}
    other = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": about}
    server.api.apply(other | {"spec": {"podSelector": {}}})
    server.api.change("Namespace", namespace, "", {"metadata": {"labels": {"team": "blue"}}})
    assert keeper.keep([speech]) == Kept()
    assert server.api.get("NetworkPolicy", "theirs", namespace)
    assert keeper.keep([]) == Kept()
    assert server.api.get("Namespace", namespace)


def test_two_installations_do_not_quarrel(server: ApiServer, keeper: Keeper, speech: Tenancy) -> None:
    kept = Keeper(server.api, "another").keep([speech])
    assert not kept.changes and [refusal.status for refusal in kept.refusals] == [409]
    assert keeper.keep([speech]) == Kept()


def test_a_namespace_that_somebody_else_made_under_our_name_stays_theirs(
    server: ApiServer, keeper: Keeper
) -> None:
    tenancy = Tenancy(next(NUMBERS), "taken", 1, True)
    server.add_namespace(namespace_of(tenancy.workspace), team="blue")
    kept = keeper.keep([tenancy])
    assert [(refusal.key[0], refusal.status) for refusal in kept.refusals] == [("Namespace", 409)]
    there = server.api.get("Namespace", namespace_of(tenancy.workspace))
    assert there and "pod-security.kubernetes.io/enforce" not in there["metadata"]["labels"]


def test_a_pod_security_that_is_enforced_refuses_what_it_has_to(server: ApiServer, speech: Tenancy) -> None:
    namespace = namespace_of(speech.workspace)
    with pytest.raises(Refused, match="restricted"):
        server.api.create(pod("root", namespace, securityContext={}))
    made = server.api.create(pod("modest", namespace))
    assert made["spec"]["containers"][0]["resources"]["limits"]["memory"] == "1Gi"
    assert not [each for each in made["spec"].get("volumes", ()) if "projected" in each]


def test_kubernetes_itself_refuses_more_units_than_the_term_has(server: ApiServer, speech: Tenancy) -> None:
    namespace = namespace_of(speech.workspace)
    until(lambda: quota_is_known(server, namespace), "the quota's first count", 30)
    greedy = pod("greedy", namespace, resources={"limits": {UNIT: "5"}})

    def is_refused() -> bool:
        """The API server hears of its own quotas a moment later."""
        try:
            server.api.create(greedy)
        except Refused as refusal:
            return "exceeded quota: term" in refusal.message
        server.api.delete("Pod", "greedy", namespace, grace_seconds=0)
        return False

    until(is_refused, "that more units are refused than the term has", 30)


def quota_is_known(server: ApiServer, namespace: str) -> bool:
    """No controller counts here: the test plays it."""
    hard = {f"requests.{UNIT}": "4"}
    status = {"status": {"hard": hard, "used": {f"requests.{UNIT}": "0"}}}
    return bool(server.api.change("ResourceQuota", "term", namespace, status, part="status"))


def test_while_the_api_server_is_away_nothing_is_concluded(
    server: ApiServer, speech: Tenancy, tmp_path: Path
) -> None:
    keeper = Keeper(server.api, HERE)
    keeper.keep([speech])
    stood = set(keeper.stood)
    away = tmp_path / "away.conf"
    away.write_text(server.kubeconfig(ADMINISTRATOR).read_text().replace(str(server.port), str(free_port())))
    keeper.api = Api(away)
    with pytest.raises(NoAnswer):
        keeper.keep([speech])
    assert keeper.stood == stood
    keeper.api = server.api
    assert keeper.keep([speech]) == Kept()


def test_a_right_that_is_lacking_is_said_and_stops_nobody_else(server: ApiServer) -> None:
    tenancy = Tenancy(next(NUMBERS), "alone", 1, True)

    class Powerless(Keeper):
        def read(self) -> dict[tuple[str, str, str], Thing]:
            return {}

    class Half:
        """May write everything but queues."""

        def list_all(self, kind: str, labels: str = "") -> Listed:
            return server.api.list_all(kind, labels)

        def get(self, kind: str, name: str, namespace: str = "") -> Thing | None:
            return server.api.get(kind, name, namespace)

        def apply(self, thing: Thing) -> Thing:
            if thing["kind"] == "ClusterQueue":
                raise Refused(403, "Forbidden", "clusterqueues is forbidden")
            return server.api.apply(thing)

    kept = Powerless(Half(), HERE).keep([tenancy])  # type: ignore[arg-type]
    assert [(refusal.key[0], refusal.status) for refusal in kept.refusals] == [("ClusterQueue", 403)]
    assert server.api.get("LocalQueue", LOCAL_QUEUE, namespace_of(tenancy.workspace))


def test_a_look_costs_nine_questions_however_many_workspaces_there_are(server: ApiServer) -> None:
    asked: list[str] = []

    class Counting:
        def list_all(self, kind: str, labels: str = "") -> object:
            asked.append(kind)
            return server.api.list_all(kind, labels)

        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"{name} was not to be asked")

    many = [Tenancy(next(NUMBERS), f"w{number}", 1, True) for number in range(5)]
    Keeper(server.api, HERE).keep(many)
    assert Keeper(Counting(), HERE).keep(many) == Kept()  # type: ignore[arg-type]
    assert asked == [*KINDS_IN_ORDER, "Node"]


def test_every_change_knows_its_workspace(keeper: Keeper) -> None:
    tenancy = Tenancy(next(NUMBERS), "told", 1, True)
    changes: list[Change] = keeper.keep([tenancy]).changes
    ours = [change for change in changes if change.workspace == tenancy.workspace]
    assert len(ours) == len(objects_of(tenancy, HERE))
