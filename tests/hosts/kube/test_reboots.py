"""Hosts of a cluster that start anew, one after the other and all at once: everything is there again by itself."""

import json
import os
import random
import time
from collections.abc import Iterator, Sequence

import pytest

from tests.hosts.appliance.conftest import note
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.test_cluster import REFERENCES
from tests.hosts.kube.workloads.manifests import server

pytestmark = pytest.mark.long
SEED = int(os.environ.get("GROUNDCREW_SEED", str(random.randrange(1000))))
ASK_REGISTRY = """import pathlib, ssl, sys, tomllib, urllib.request
place, name, digest = sys.argv[1:]
folder = pathlib.Path("/etc/containerd/certs.d") / place
told = tomllib.loads((folder / "hosts.toml").read_text())["host"]["https://" + place]["header"]
headers = {**told, "accept": "application/vnd.oci.image.manifest.v1+json"}
asked = urllib.request.Request(f"https://{place}/v2/{name}/manifests/{digest}", headers=headers, method="HEAD")
known = ssl.create_default_context(cafile=str(folder / "ca.crt"))
print(urllib.request.urlopen(asked, context=known, timeout=20).status)
"""
"""As containerd asks, with what the node knows of the registry."""


@pytest.fixture(scope="module")
def servers(with_programs: Cluster) -> Iterator[Cluster]:
    """One on each node, named after it; the kubelet starts it anew with its node."""
    for name, host in with_programs.bed.hosts.items():
        with_programs.apply(server(name, host.name))
    names = list(with_programs.bed.hosts)
    wait_until_all_is_there(with_programs, names)
    yield with_programs
    with_programs.kubectl(f"delete pod,service {' '.join(names)} --wait=false")


def wait_until_all_is_there(cluster: Cluster, names: Sequence[str]) -> None:
    """A command in a pod of such a host runs only once its kubelet, engine and network are there again."""
    reference = json.loads(cluster.master.ask(REFERENCES))["cpu"]
    place, _, image = reference.partition("/")
    name, _, digest = image.partition("@")
    for host in (cluster.bed.hosts[each] for each in names):
        cluster.wait(f"wait --for=condition=Ready node/{host.name} --timeout=5s")
        host.wait_until(f"python3 -c '{ASK_REGISTRY}' {place} {name} {digest} | grep -x 200", 300)
    for one in names:
        for other in cluster.bed.hosts:
            cluster.wait(f"exec {one} -- /probe get {other}.default.svc.cluster.local | grep -x {other}")
            cluster.wait(f"exec {other} -- /probe get {one}.default.svc.cluster.local | grep -x {one}")
    spaces = ("kube-system", "kube-flannel", "mpi-operator", "kueue-system")
    for space in spaces:
        cluster.wait(f"wait --for=condition=Ready pods --all --namespace {space} --timeout=5s")


def start_anew(cluster: Cluster, names: Sequence[str], words: str) -> None:
    """Everything in them dies at once for whoever looks from the others."""
    before = time.monotonic()
    cluster.bed.restart(*names)
    wait_until_all_is_there(cluster, names)
    for name in names:
        assert cluster.bed.hosts[name].has_failed_units() == ""
    seconds, load = time.monotonic() - before, os.getloadavg()[0]
    note(f"gc-kube: {words}: all there again after {seconds:.0f} s, load of this machine {load:.1f}")


def test_each_host_comes_back_by_itself_in_any_order(servers: Cluster) -> None:
    order = list(servers.bed.hosts)
    random.Random(SEED).shuffle(order)
    print(f"GROUNDCREW_SEED={SEED}: {order}")
    for name in order:
        start_anew(servers, [name], f"{name} started anew")


def test_all_hosts_come_back_from_a_cold_start(servers: Cluster) -> None:
    names = list(servers.bed.hosts)
    start_anew(servers, names, "all three started anew at once")
