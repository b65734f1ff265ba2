"""Pods of two workspaces on three nodes, and nobody of one reaches anybody of the other, whatever starts again."""

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from typing import Any

import pytest

from tests.hosts.appliance.conftest import note
from tests.hosts.appliance.repair_scenarios import in_python
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.scenarios import portal_user
from tests.hosts.kube.workloads.manifests import server
from tests.hosts.machines.testbed import Host

SPACES = ("gc-workspace-901", "gc-workspace-902")
PORT = 8080
WATCHER = "groundcrew-pod-network.service"
RULES = "groundcrew-pod-ports.service"
BACK_WITHIN = 240.0
"""Seconds until pods of a node that starts again are ready; after 300 without it Kubernetes deletes them."""
METADATA = "169.254.169.254:8099"
ALERTS = """
from cluster.services.alerts.current_alerts import list_alerts
found = [(each.code, each.data) for each in list_alerts(cluster, actor)]
print(json.dumps([data["node"] for code, data in found if code == "attention.pod_network_silent"]))
"""


@dataclass(frozen=True)
class Pod:
    space: str
    name: str
    node: str
    """The host's name in the testbed."""
    address: str
    run: str = ""
    """Of its container; empty until it is ready."""

    @property
    def door(self) -> str:
        return f"{self.address}:{PORT}"


@dataclass(frozen=True)
class Tries:
    """Of all pods at all others: how often a door opened, and how often it did not."""

    own_open: int
    own_closed: int
    foreign_open: int
    foreign_closed: int

    def __add__(self, other: "Tries") -> "Tries":
        return Tries(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Mesh:
    cluster: Cluster

    def pods(self) -> list[Pod]:
        hosts = {host.name: name for name, host in self.cluster.bed.hosts.items()}
        found = []
        for space in SPACES:
            for each in json.loads(self.cluster.kubectl(f"-n {space} get pods -o json"))["items"]:
                about, status = each["metadata"], each["status"]
                node, address = hosts[each["spec"]["nodeName"]], status.get("podIP", "")
                found.append(Pod(space, about["name"], node, address, run_of(status)))
        return found

    def try_all(self, pods: Sequence[Pod], seconds: float = 0) -> Tries:
        with ThreadPoolExecutor(len(pods)) as threads:
            return count(list(threads.map(lambda pod: self.ask(pod, pods, seconds), pods)))

    def ask(self, pod: Pod, pods: Sequence[Pod], seconds: float) -> list[tuple[bool, int, int]]:
        """Of each other pod: whether it is of the same workspace, and the counts."""
        others = {other.door: other.space == pod.space for other in pods if other is not pod}
        said = self.cluster.kubectl(
            f"-n {pod.space} exec {pod.name} -- /probe tries {seconds} {' '.join(others)}"
        )
        lines = [line.split() for line in said.splitlines()]
        return [(others[door], int(opened), int(closed)) for door, opened, closed in lines]

    def passed(self, pods: Sequence[Pod], doors: Sequence[str]) -> set[tuple[str, str]]:
        """Which workspace has got through which of these doors."""
        words = f"/probe tries 0 {' '.join(doors)}"

        def ask(pod: Pod) -> list[tuple[str, str]]:
            said = self.cluster.kubectl(f"-n {pod.space} exec {pod.name} -- {words}")
            lines = [line.split() for line in said.splitlines()]
            return [(pod.space, door) for door, opened, _ in lines if int(opened)]

        with ThreadPoolExecutor(len(pods)) as threads:
            return {each for found in threads.map(ask, pods) for each in found}

    def try_until_back(
        self, staying: Sequence[Pod], leaving: Sequence[Pod]
    ) -> tuple[Tries, set[tuple[str, str]]]:
        """The tries of those that stay, and what they got through of the doors of those that left and come back."""
        runs, doors = {pod.run for pod in leaving}, [pod.door for pod in leaving]
        tries, passed, deadline = Tries(0, 0, 0, 0), set[tuple[str, str]](), time.monotonic() + BACK_WITHIN
        while True:
            tries += self.try_all(staying, 3)
            passed |= self.passed(staying, doors)
            back = [pod for pod in self.pods() if pod.node == leaving[0].node]
            if all(pod.run and pod.run not in runs for pod in back):
                return tries, passed
            assert time.monotonic() < deadline, back

    def wait_until_own_are_open(self, pods: Sequence[Pod]) -> Tries:
        """A watcher of another node hears of a new pod within moments."""
        for _ in range(20):
            tries = self.try_all(pods)
            assert tries.foreign_open == 0, tries
            if tries.own_closed == 0:
                return tries
        raise AssertionError(tries)


def run_of(status: dict[str, Any]) -> str:
    is_ready = any(
        each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ())
    )
    return status["containerStatuses"][0]["containerID"] if is_ready else ""


def count(answers: Sequence[Sequence[tuple[bool, int, int]]]) -> Tries:
    own = [each for answer in answers for each in answer if each[0]]
    foreign = [each for answer in answers for each in answer if not each[0]]
    sums = [sum(each[place] for each in part) for part in (own, foreign) for place in (1, 2)]
    return Tries(*sums)


@pytest.fixture(scope="module")
def mesh(with_programs: Cluster) -> Iterator[Mesh]:
    """A pod of each workspace on each node."""
    for space in SPACES:
        with_programs.kubectl(f"create namespace {space}")
        for name, host in with_programs.bed.hosts.items():
            with_programs.apply(server(name, host.name, space))
    for space in SPACES:
        with_programs.wait(f"-n {space} wait --for=condition=Ready pods --all --timeout=5s")
    yield Mesh(with_programs)
    with_programs.kubectl(f"delete namespace {' '.join(SPACES)} --wait=false")


def test_pods_of_two_workspaces_do_not_reach_each_other(mesh: Mesh) -> None:
    tries = mesh.wait_until_own_are_open(mesh.pods())
    assert tries == Tries(own_open=12, own_closed=0, foreign_open=0, foreign_closed=18)


CLOUD = """set -e; ip netns add cloud; ip link add cloud0 type veth peer name eth0 netns cloud
ip address add 198.51.100.1/30 dev cloud0; ip link set cloud0 up
ip -n cloud address add 198.51.100.2/30 dev eth0; ip -n cloud address add 169.254.169.254/32 dev lo
ip -n cloud link set lo up; ip -n cloud link set eth0 up; ip -n cloud route add default via 198.51.100.1
ip route replace 169.254.169.254 via 198.51.100.2
systemd-run --quiet --unit=gc-metadata ip netns exec cloud python3 -m http.server 8099 --bind 169.254.169.254
"""
NO_CLOUD = "systemctl stop gc-metadata.service; ip netns del cloud; ip link del cloud0"
DROPPED = "nft list ruleset 2>/dev/null | sed -n 's/.* ip daddr 169.254.0.0.16 counter packets \\([0-9]*\\) .*/\\1/p'"
"""How many packets the rule has dropped that this is about."""


def test_no_pod_of_a_workspace_reaches_where_clouds_keep_credentials(mesh: Mesh) -> None:
    """A namespace of a node plays the cloud: the machine below drops what hosts send to such an address of another."""
    node = mesh.cluster.bed.hosts["w1"]
    (pod,) = (pod for pod in mesh.pods() if (pod.space, pod.node) == (SPACES[0], "w1"))
    try:
        node.ask(CLOUD)
        node.wait_until(f"timeout 5 bash -c '</dev/tcp/{METADATA.replace(':', '/')}'", 60)
        before = int(node.ask(DROPPED))
        assert (
            mesh.cluster.kubectl(f"-n {pod.space} exec {pod.name} -- /probe connect {METADATA}") == "closed"
        )
        assert int(node.ask(DROPPED)) > before
    finally:
        node.run(NO_CLOUD)


def test_restarts_of_watchers_and_rules_open_nothing_and_cut_nothing(mesh: Mesh) -> None:
    pods = mesh.pods()

    def start_again(host: Host) -> None:
        host.ask(f"systemctl kill --signal=SIGKILL {WATCHER}")
        host.ask(f"systemctl restart {RULES}")
        host.ask(f"systemctl stop {WATCHER}")
        host.ask(f"systemctl restart {RULES}")
        host.ask(f"systemctl start {WATCHER}")

    with ThreadPoolExecutor(1) as beside:
        trying = beside.submit(mesh.try_all, pods, 20)
        for host in mesh.cluster.hosts:
            start_again(host)
        tries = trying.result()
    assert (tries.foreign_open, tries.own_closed) == (0, 0), tries
    note(
        f"gc-kube: watchers and rules started again under {tries.own_open + tries.foreign_closed} tries: {tries}"
    )
    assert mesh.try_all(pods).own_closed == 0


@pytest.mark.long
def test_a_node_whose_power_is_cut_opens_nothing_when_it_is_back(mesh: Mesh) -> None:
    """Its pods come back with other addresses, which the others have to hear of. Those that it had go to whoever comes
    first: one that the other workspace has now must not be open for the former one's."""
    before = mesh.wait_until_own_are_open(mesh.pods())
    pods = mesh.pods()
    staying, leaving = ([pod for pod in pods if (pod.node == "w2") is leaves] for leaves in (False, True))
    mesh.cluster.bed.kill("w2")
    with ThreadPoolExecutor(1) as beside:
        starting = beside.submit(mesh.cluster.bed.power_on, "w2")
        during, passed = mesh.try_until_back(staying, leaving)
        starting.result()
    owners = {pod.door: pod.space for pod in mesh.pods()}
    assert {(space, door) for space, door in passed if owners.get(door, space) != space} == set()
    assert (during.foreign_open, during.own_closed) == (0, 0), during
    again = mesh.wait_until_own_are_open(mesh.pods())
    kept = len(owners.keys() & {pod.door for pod in leaving})
    note(
        f"gc-kube: power of w2 cut; before {before}; meanwhile those that stayed {during}; afterwards {again}; "
        f"{kept} addresses went to a pod again, {len(passed)} doors of w2 were open to their own"
    )


@pytest.mark.long
def test_a_watcher_that_stands_still_is_an_alert_until_it_hears_again(mesh: Mesh) -> None:
    """Its rules stay, so that only the alert says that new pods of other nodes are strangers there."""
    cluster, stopped = mesh.cluster, mesh.cluster.bed.hosts["w2"]
    pilot = portal_user.enter(cluster)

    def silent_nodes() -> list[str]:
        found: list[str] = json.loads(in_python(cluster.master, portal_user.AS_OPS + ALERTS))
        return found

    assert silent_nodes() == []
    stopped.ask(f"systemctl stop {WATCHER}")
    try:
        seconds = pilot.until(lambda: silent_nodes() == [stopped.name], 300, "the alert")
        portal_user.measured("a silent watcher of the pod network is an alert", seconds)
    finally:
        stopped.ask(f"systemctl start {WATCHER}")
    seconds = pilot.until(lambda: silent_nodes() == [], 120, "the end of the alert")
    portal_user.measured("the watcher hears again: the alert is over", seconds)
