"""The watcher of a node: what it makes of lists and events, and what it tells the packet filter."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from cluster.domain.kubernetes.pod_network import NetworkMembers, PodAddress, renewed_leases
from worker.kubernetes.api_client import ApiRefused, KubernetesApi, KubernetesObject, ObjectList
from worker.kubernetes.namespaces.portal_addresses import CONTROL_PLANE
from worker.kubernetes.pod_network import NodeRules, PodNetworkWatch, RulesRefused, pod_address_of

NOW = datetime(2026, 11, 24, 10, tzinfo=UTC)
NFT = """
import pathlib, sys
here = pathlib.Path(__file__).parent
if (here / "no table").exists():
    sys.exit("Error: No such file or directory; did you mean table ‘x’?")
with (here / "told").open("a") as told:
    told.write(pathlib.Path(sys.argv[2]).read_text() + "--\\n")
"""
MASTER = {
    "metadata": {"labels": {CONTROL_PLANE: ""}},
    "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]},
    "spec": {"podCIDR": "10.244.0.0/24"},
}


def pod(
    name: str, address: str = "", node: str = "w2", phase: str = "Running", namespace: str = "gc-workspace-7"
) -> KubernetesObject:
    return {
        "metadata": {"uid": name, "name": name, "namespace": namespace},
        "spec": {"nodeName": node},
        "status": {"phase": phase, "podIP": address} if address else {"phase": phase},
    }


@pytest.mark.parametrize(
    ("thing", "address"),
    [
        (pod("a", "10.244.2.5"), PodAddress("10.244.2.5", 7, "w2")),
        (pod("a", "10.244.2.5", phase="Pending"), PodAddress("10.244.2.5", 7, "w2")),
        (pod("a", "10.244.2.5", phase="Unknown"), PodAddress("10.244.2.5", 7, "w2")),
        (pod("a"), None),
        (pod("a", "10.244.2.5", phase="Succeeded"), None),
        (pod("a", "10.244.2.5", phase="Failed"), None),
        (pod("a", "10.244.2.5", node=""), None),
        (pod("a", "10.244.2.5", namespace="kube-system"), None),
        (pod("a", "10.244.2.5", namespace="gc-workspace-x"), None),
        (pod("a", "10.244.2.5", namespace="7"), None),
    ],
)
def test_a_pod_has_an_address_while_it_runs_and_is_a_workspaces(
    thing: KubernetesObject, address: PodAddress | None
) -> None:
    assert pod_address_of(thing) == address


@pytest.fixture
def rules(tmp_path: Path) -> NodeRules:
    (tmp_path / "nft.py").write_text(NFT)
    (tmp_path / "run").mkdir()
    return NodeRules(tmp_path / "run", (sys.executable, str(tmp_path / "nft.py")))


def told(rules: NodeRules) -> list[str]:
    """What was told since this was last asked."""
    file = rules.folder.parent / "told"
    text = file.read_text() if file.exists() else ""
    file.unlink(missing_ok=True)
    return [part.strip() for part in text.split("--\n")[:-1]]


def elements(rules: NodeRules) -> list[str]:
    """The elements of the newest transaction, as `remote_7 { 10.244.2.5 }`."""
    lines = told(rules)[-1].splitlines()
    return [line.split(maxsplit=4)[4] for line in lines if line.startswith("add element")]


def test_the_same_is_told_once_and_a_new_watcher_empties_what_it_finds(rules: NodeRules) -> None:
    one = NetworkMembers({7: frozenset({"10.244.2.5"})})
    assert [rules.tell(one), rules.tell(one)] == [True, False]
    assert len(told(rules)) == 1
    heir = NodeRules(rules.folder, rules.nft)
    heir.tell(NetworkMembers())
    assert "flush set inet groundcrew_pods remote_7" in told(rules)[0].splitlines()


def test_rules_that_are_refused_are_told_again(rules: NodeRules) -> None:
    one = NetworkMembers({7: frozenset({"10.244.2.5"})})
    rules.tell(one)
    broken = rules.folder.parent / "no table"
    broken.touch()
    two = NetworkMembers({7: frozenset({"10.244.2.6"})})
    with pytest.raises(RulesRefused, match="No such file"):
        rules.tell(two)
    broken.unlink()
    told(rules)
    assert rules.tell(two) and "10.244.2.6" in told(rules)[0]
    assert "10.244.2.6" in (rules.folder / "members.nft").read_text(), (
        "whoever loads the rules reads it there"
    )


class Api:
    def __init__(self, pods: list[KubernetesObject], events: list[tuple[str, KubernetesObject]]) -> None:
        self.objects: dict[str, list[Any]] = {"Node": [MASTER], "Pod": pods}
        self.events = events
        self.applied: list[KubernetesObject] = []
        self.refuses = False

    def apply(self, thing: KubernetesObject) -> KubernetesObject:
        if self.refuses:
            raise ApiRefused(403, "Forbidden", "no leases")
        self.applied.append(thing)
        return thing

    def list_all(self, kind: str, labels: str = "") -> ObjectList:
        return ObjectList(self.objects[kind], "41")

    def watch(self, kind: str, version: str, seconds: int) -> Iterator[tuple[str, KubernetesObject]]:
        assert (kind, version) == ("Pod", "41")
        yield from self.events


@pytest.mark.parametrize(
    ("pods", "events", "last"),
    [
        ([], [], []),
        ([pod("a", "10.244.2.5")], [], ["remote_7 { 10.244.2.5 }"]),
        ([pod("a", "10.244.1.5", node="w1")], [], []),
        ([pod("a")], [("MODIFIED", pod("a", "10.244.2.5"))], ["remote_7 { 10.244.2.5 }"]),
        ([], [("ADDED", pod("a")), ("MODIFIED", pod("a", "10.244.2.5"))], ["remote_7 { 10.244.2.5 }"]),
        ([pod("a", "10.244.2.5")], [("DELETED", pod("a", "10.244.2.5"))], []),
        ([pod("a", "10.244.2.5")], [("MODIFIED", pod("a", "10.244.2.5", phase="Succeeded"))], []),
        (
            [pod("a", "10.244.2.5"), pod("b", "10.244.2.6", namespace="gc-workspace-8")],
            [("DELETED", pod("a", "10.244.2.5"))],
            ["remote_8 { 10.244.2.6 }"],
        ),
    ],
)
def test_the_packet_filter_knows_the_pods_of_other_nodes_as_they_come_and_go(
    rules: NodeRules,
    pods: list[KubernetesObject],
    events: list[tuple[str, KubernetesObject]],
    last: list[str],
) -> None:
    watch = PodNetworkWatch(cast(KubernetesApi, Api(pods, events)), "w1", rules)
    watch.follow()
    assert elements(rules) == ["doors { 10.0.0.9, 10.244.0.0 }", *last]


def test_what_was_missed_between_two_watches_is_forgotten(rules: NodeRules) -> None:
    api = Api([pod("a", "10.244.2.5")], [])
    watch = PodNetworkWatch(cast(KubernetesApi, api), "w1", rules)
    watch.follow()
    api.objects["Pod"] = []
    watch.follow()
    assert elements(rules) == ["doors { 10.0.0.9, 10.244.0.0 }"]


def test_each_look_renews_the_lease_of_the_node(rules: NodeRules) -> None:
    api = Api([pod("a", "10.244.2.5")], [])
    watch = PodNetworkWatch(cast(KubernetesApi, api), "w1", rules, lambda: NOW)
    watch.follow()
    (lease,) = api.applied
    assert lease["metadata"]["name"] == "groundcrew-pod-network-w1"
    assert lease["spec"]["renewTime"] == "2026-11-24T10:00:00.000000+00:00"
    assert renewed_leases(api.applied) == {"w1": NOW}


def test_a_lease_that_is_refused_does_not_stop_the_watch(rules: NodeRules) -> None:
    api = Api([], [("ADDED", pod("a", "10.244.2.5"))])
    api.refuses = True
    PodNetworkWatch(cast(KubernetesApi, api), "w1", rules).follow()
    assert elements(rules)[1:] == ["remote_7 { 10.244.2.5 }"]


def test_a_packet_filter_that_takes_no_rules_leaves_the_lease_to_expire(rules: NodeRules) -> None:
    api = Api([pod("a", "10.244.2.5")], [])
    (rules.folder.parent / "no table").touch()
    with pytest.raises(RulesRefused):
        PodNetworkWatch(cast(KubernetesApi, api), "w1", rules).follow()
    assert api.applied == []
