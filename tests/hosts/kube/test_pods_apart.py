"""Pods of two workspaces on three nodes, and nobody of one reaches anybody of the other, whatever starts again."""

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field
from threading import Event
from typing import Any

import pytest

from tests.hosts.appliance.conftest import note
from tests.hosts.appliance.repair_scenarios import in_python
from tests.hosts.kube.conftest import ADMINISTRATOR, Cluster
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
    counted: list[Tries] = field(default_factory=list)
    """Of all tries so far."""
    numbers: Iterator[int] = field(default_factory=itertools.count)

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
            self.counted.append(count(list(threads.map(lambda pod: self.ask(pod, pods, seconds), pods))))
        return self.counted[-1]

    def ask(self, pod: Pod, pods: Sequence[Pod], seconds: float) -> list[tuple[bool, int, int]]:
        """Of each other pod: whether it is of the same workspace, and the counts."""
        others = {other.door: other.space == pod.space for other in pods if other is not pod}
        tries = self.tries(pod, list(others), seconds)
        return [(others[door], opened, closed) for door, opened, closed in tries]

    def tries(self, pod: Pod, doors: Sequence[str], seconds: float) -> list[tuple[str, int, int]]:
        """Of each door how often it was open and how often not. Its node's engine is asked, for the API server may be
        away.
        """
        container = pod.run.removeprefix("containerd://")
        words = f"--exec-id try-{next(self.numbers)} {container} /probe tries {seconds} {' '.join(doors)}"
        said = self.cluster.bed.hosts[pod.node].ask(f"ctr --namespace k8s.io tasks exec {words}")
        # The engine's own words about the host stand beside those of the program.
        lines = [line.split() for line in said.splitlines() if line.split(" ")[0] in doors]
        assert len(lines) == len(doors), said
        return [(door, int(opened), int(closed)) for door, opened, closed in lines]

    def try_until(self, event: Event, pod: Pod, door: str) -> tuple[int, int]:
        """How often the door was open and how often not; the last round begins after the event."""
        opened = closed = 0
        is_last = False
        while not is_last:
            is_last = event.is_set()
            ((_, more, fewer),) = self.tries(pod, [door], 2)
            opened, closed = opened + more, closed + fewer
        return opened, closed

    def passed(self, pods: Sequence[Pod], doors: Sequence[str]) -> set[tuple[str, str]]:
        """Which workspace has got through which of these doors."""

        def ask(pod: Pod) -> list[tuple[str, str]]:
            return [(pod.space, door) for door, opened, _ in self.tries(pod, doors, 0) if opened]

        with ThreadPoolExecutor(len(pods)) as threads:
            return {each for found in threads.map(ask, pods) for each in found}

    def try_until_back(
        self, staying: Sequence[Pod], leaving: Sequence[Pod]
    ) -> tuple[Tries, set[tuple[str, str]]]:
        """The tries of those that stay, and what they got through of the doors of those that left and come back."""
        doors = [pod.door for pod in leaving]
        tries, passed, deadline = Tries(0, 0, 0, 0), set[tuple[str, str]](), time.monotonic() + BACK_WITHIN
        while True:
            tries += self.try_all(staying, 3)
            passed |= self.passed(staying, doors)
            if self.are_back(leaving):
                return tries, passed
            assert time.monotonic() < deadline, "pods of the node that started again"

    def are_back(self, left: Sequence[Pod]) -> bool:
        """By other containers than before. While the API server is away nobody knows."""
        if self.cluster.master.run(f"{ADMINISTRATOR} get --raw /readyz").returncode != 0:
            return False
        runs = {pod.run for pod in left}
        return all(pod.run and pod.run not in runs for pod in self.pods() if pod.node == left[0].node)

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
    mesh = Mesh(with_programs)
    yield mesh
    note(f"gc-kube: all tries of pods of two workspaces: {sum(mesh.counted, Tries(0, 0, 0, 0))}")
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


GIVEN = "/var/lib/cni/networks/cbr0"
"""Where a node writes down which addresses its pods have, and the last that it gave."""


@pytest.mark.long
def test_an_address_that_another_workspace_gets_is_closed_to_the_former_one(mesh: Mesh) -> None:
    """While no watcher hears of it: other nodes still take the address for one of the former workspace."""
    cluster, node = mesh.cluster, mesh.cluster.bed.hosts["w2"]
    pods = mesh.pods()
    former = [pod for pod in pods if pod.space == SPACES[0] and pod.node != "w2"]
    (left,) = (pod for pod in pods if (pod.space, pod.node) == (SPACES[0], "w2"))
    (neighbour,) = (pod for pod in pods if (pod.space, pod.node) == (SPACES[1], "w2"))
    network, _, number = left.address.rpartition(".")
    watchers, given = [host.ask for host in cluster.hosts], Event()
    try:
        for ask in watchers:
            ask(f"systemctl stop {WATCHER}")
        cluster.kubectl(f"-n {left.space} delete pod {left.name} --wait=true")
        node.wait_until(f"! test -e {GIVEN}/{left.address}")
        node.ask(f"printf %s {network}.{int(number) - 1} > {GIVEN}/last_reserved_ip.0")
        with ThreadPoolExecutor(len(former)) as beside:
            trying = [beside.submit(mesh.try_until, given, pod, left.door) for pod in former]
            try:
                cluster.apply(server("heir", node.name, SPACES[1]))
                cluster.wait(f"-n {SPACES[1]} wait --for=condition=Ready pod/heir --timeout=5s", 120)
            finally:
                given.set()
            counts = [each.result() for each in trying]
        (heir,) = (pod for pod in mesh.pods() if pod.name == "heir")
        assert heir.address == left.address
        assert [opened for _, opened, _ in mesh.tries(neighbour, [heir.door], 0)] == [1]
        assert all(opened == 0 and closed > 1 for opened, closed in counts), counts
        for ask in watchers:
            ask(f"systemctl start {WATCHER}")
        tries = mesh.wait_until_own_are_open(mesh.pods())
        note(
            f"gc-kube: an address went to the other workspace, its former one tried {counts}; afterwards {tries}"
        )
    finally:
        for ask in watchers:
            ask(f"systemctl start {WATCHER}")
        cluster.kubectl(f"-n {SPACES[1]} delete pod,service heir --ignore-not-found --wait=true")
        cluster.apply(server(left.name, node.name, left.space))
        cluster.wait(f"-n {left.space} wait --for=condition=Ready pod/{left.name} --timeout=5s", 60)


@pytest.mark.long
@pytest.mark.parametrize("name", ["w2", "m"])
def test_a_node_whose_power_is_cut_opens_nothing_when_it_is_back(mesh: Mesh, name: str) -> None:
    """Its pods come back with other addresses, which the others have to hear of. Those that it had go to whoever comes
    first: one that the other workspace has now must not be open for the former one's. With the master the API server
    is away as well."""
    before = mesh.wait_until_own_are_open(mesh.pods())
    pods = mesh.pods()
    staying, leaving = ([pod for pod in pods if (pod.node == name) is leaves] for leaves in (False, True))
    mesh.cluster.bed.kill(name)
    with ThreadPoolExecutor(1) as beside:
        starting = beside.submit(mesh.cluster.bed.power_on, name)
        during, passed = mesh.try_until_back(staying, leaving)
        starting.result()
    owners = {pod.door: pod.space for pod in mesh.pods()}
    assert {(space, door) for space, door in passed if owners.get(door, space) != space} == set()
    assert (during.foreign_open, during.own_closed) == (0, 0), during
    again = mesh.wait_until_own_are_open(mesh.pods())
    kept = len(owners.keys() & {pod.door for pod in leaving})
    note(
        f"gc-kube: power of {name} cut; before {before}; meanwhile those that stayed {during}; afterwards {again}; "
        f"{kept} addresses went to a pod again, {len(passed)} doors of {name} were open to their own"
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
