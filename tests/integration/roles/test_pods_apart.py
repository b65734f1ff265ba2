"""Pods of different workspaces do not reach each other, by the rules of two nodes in this machine's own kernel."""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.integration.roles.pod_mesh import DNS, METADATA, NODES, Mesh, Pod, node_network, pod_mesh

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("nft", path="/usr/sbin") is None,
    reason="needs root and nft for network namespaces",
)

A7, B7, A8, SYSTEM = (
    Pod("a7", "a", "10.244.1.5", 7),
    Pod("b7", "a", "10.244.1.6", 7),
    Pod("a8", "a", "10.244.1.7", 8),
    Pod("system", "a", "10.244.1.8", None),
)
C7, C8, NAMES = (
    Pod("c7", "b", "10.244.2.5", 7),
    Pod("c8", "b", "10.244.2.6", 8),
    Pod("names", "b", "10.244.2.7", None),
)
PODS = (A7, B7, A8, SYSTEM, C7, C8, NAMES)
PAIRS = [(one, other) for one in PODS for other in PODS if one is not other]
EVERYBODY = {(one.name, other.name) for one, other in PAIRS}
OWN = {(one.name, other.name) for one, other in PAIRS if one.workspace == other.workspace}
"""Pods of the system are kept from those of workspaces as well, and not from each other."""
NAMED_BY_WATCHERS = {
    (one.name, other.name)
    for one, other in PAIRS
    if one.workspace == other.workspace is not None and one.node != other.node
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mesh]:
    with pod_mesh(tmp_path_factory.mktemp("pods"), PODS) as mesh:
        yield mesh


def neighbours(mesh: Mesh) -> set[str]:
    """Of the first pod by IPv6: another one, and its node."""
    return {f"{mesh.link_local(network)}%eth0 8080" for network in (A8.network, node_network("a"))}


@pytest.fixture(scope="module")
def apart(bare: Mesh) -> Mesh:
    """First without rules, so that it is the rules that keep them apart, and then without watchers."""
    assert bare.open_pairs() == EVERYBODY
    others = neighbours(bare)
    assert bare.open_from(A7.network, f"{METADATA} 8080", *others) == {f"{METADATA} 8080", *others}
    for node in NODES:
        bare.load_rules(node)
    for pod in PODS:
        bare.begin(pod)
    bare.find_dns(NAMES)
    assert bare.open_pairs() == OWN - NAMED_BY_WATCHERS, (
        "a pod of another node is a stranger until the watcher has named it"
    )
    for node in NODES:
        bare.watch(node)
    return bare


def test_a_pod_reaches_those_of_its_workspace_and_nobody_elses(apart: Mesh) -> None:
    assert apart.open_pairs() == OWN


def test_a_pod_of_a_workspace_finds_names_by_the_service_alone(apart: Mesh) -> None:
    for pod in (A7, C8):
        asked = {f"{DNS} 53", f"{NAMES.address} 53", f"{SYSTEM.address} 53"}
        assert apart.open_from(pod.network, *asked) == {f"{DNS} 53"}


def test_nobody_reaches_the_address_where_a_cloud_keeps_its_credentials(apart: Mesh) -> None:
    for pod in (A7, SYSTEM, C7):
        assert not apart.open_from(pod.network, f"{METADATA} 8080")


def test_pods_of_one_node_do_not_find_each_other_or_the_node_by_ipv6(apart: Mesh) -> None:
    assert not apart.open_from(A7.network, *neighbours(apart))


def test_the_portal_reaches_notebooks_and_nothing_else_of_a_pod(apart: Mesh) -> None:
    asked = {f"{A7.address} {port}" for port in (8080, 8888)}
    assert not apart.open_from(node_network("b"), *asked)
    apart.watch("a", doors=[NODES["b"]])
    assert apart.open_from(node_network("b"), *asked) == {f"{A7.address} 8888"}


def test_rules_that_are_loaded_again_cut_nothing_and_open_nothing(apart: Mesh) -> None:
    held = [apart.hold(A7, B7), apart.hold(A7, C7), apart.hold(C7, B7)]
    for node in NODES:
        apart.load_rules(node)
    assert all(each.answers() for each in held)
    assert apart.open_pairs() == OWN


def test_a_watcher_that_begins_again_changes_nothing(apart: Mesh) -> None:
    held = apart.hold(C7, A7)
    apart.watch("a")
    assert held.answers() and apart.open_pairs() == OWN


def test_an_address_that_becomes_another_workspaces_keeps_no_connection(apart: Mesh) -> None:
    """The others have not heard of it yet: their watchers still say workspace 7."""
    held = [apart.hold(C7, B7), apart.hold(B7, A7)]
    heir = Pod(B7.name, B7.node, B7.address, 9)
    apart.begin(heir, "c2")
    assert not any(each.answers() for each in held)
    assert not {pair for pair in apart.open_pairs() if "b7" in pair}
    apart.begin(B7, "c3")
    assert apart.open_pairs() == OWN
