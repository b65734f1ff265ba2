"""site.yml makes one Kubernetes cluster of three bare hosts, out of a bundle and nothing else."""

import json
from collections.abc import Iterator

import pytest

from tests.hosts.appliance.conftest import note
from tests.hosts.appliance.repair_scenarios import ask_rows, in_python, make_token
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.workloads.manifests import DEVICES, GPUS, QUEUE, server, training

REFERENCES = "/opt/groundcrew/current/bin/python -m worker.images references"
BACK_UP = """
from sqlalchemy import select
from cluster.domain.people.actor import Actor
from cluster.services.backups import requests
from cluster.settings import Settings
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from worker.composition import open_cluster
cluster = open_cluster(Settings.from_environment())
with cluster.store.read() as session:
    user = session.scalar(select(User).where(User.name == "ops"))
print(requests.request_backup(cluster, Actor(user.id, user.name, True)).id)
"""
API_SERVICE = "10.96.0.1"
CLOSED = {"sshd": 22, "the kubelet": 10250, "etcd": 2379}


def allocatable(cluster: Cluster) -> dict[str, str]:
    nodes = json.loads(cluster.kubectl("get nodes -o json"))["items"]
    return {node["metadata"]["name"]: node["status"]["allocatable"].get(GPUS, "0") for node in nodes}


def test_the_hosts_have_no_way_out_and_no_names(cluster: Cluster) -> None:
    for host in cluster.hosts:
        assert host.ask("ip route show default; ip -6 route show default") == ""
        assert host.run("getent hosts deb.debian.org").returncode != 0


def test_site_yml_makes_three_ready_nodes(installed: Cluster) -> None:
    said = installed.kubectl(
        "get nodes --no-headers -o custom-columns=:metadata.name,:status.conditions[-1].status"
    )
    assert sorted(said.split()) == sorted([*(host.name for host in installed.hosts), *["True"] * 3])


@pytest.fixture(scope="module")
def servers(with_programs: Cluster) -> Iterator[Cluster]:
    """One on each node, named after it."""
    for name, host in with_programs.bed.hosts.items():
        with_programs.apply(server(name, host.name))
    for name in with_programs.bed.hosts:
        with_programs.wait(f"wait --for=condition=Ready pod/{name} --timeout=5s")
    yield with_programs
    with_programs.kubectl(f"delete pod,service {' '.join(with_programs.bed.hosts)} --wait=false")


def test_pods_find_each_other_by_name_across_hosts(servers: Cluster) -> None:
    for name in servers.bed.hosts:
        for other in servers.bed.hosts:
            asked = f"exec {name} -- /probe get {other}.default.svc.cluster.local"
            servers.wait(f"{asked} | grep -x {other}", 120)


def test_pods_reach_two_ports_of_the_hosts_and_no_other(servers: Cluster) -> None:
    """From a pod on the master itself, and from one whose packets leave its node with the node's address."""
    address = servers.master.address
    for pod in ("m", "w1"):
        for port in CLOSED.values():
            assert (
                servers.master.ask(f"timeout 5 bash -c '</dev/tcp/{address}/{port}' && echo open") == "open"
            )
            assert servers.kubectl(f"exec {pod} -- /probe connect {address}:{port}") == "closed", (pod, port)
        assert servers.kubectl(f"exec {pod} -- /probe connect {address}:6443") == "open"


def test_pods_of_a_workspace_do_not_reach_the_api_server(servers: Cluster) -> None:
    """By its address and by that of its service; from the master itself and from a worker node."""
    space = "gc-workspace-900"
    servers.kubectl(f"create namespace {space}")
    for name in ("m", "w1"):
        servers.apply(server(f"inside-{name}", servers.bed.hosts[name].name, space))
    for name in ("m", "w1"):
        pod = f"inside-{name}"
        servers.wait(f"-n {space} wait --for=condition=Ready pod/{pod} --timeout=5s")
        for target in (f"{servers.master.address}:6443", f"{API_SERVICE}:443"):
            asked = f"exec {pod} -- /probe connect {target}"
            assert servers.kubectl(f"-n {space} {asked}") == "closed", (pod, target)
            assert servers.kubectl(f"exec {name} -- /probe connect {target}") == "open", (name, target)
        names = f"-n {space} exec {pod} -- /probe lookup {name}.default.svc.cluster.local"
        servers.wait(names, 120)
        asked = f"-n {space} exec {pod} -- /probe connect {name}.default.svc.cluster.local:80"
        assert servers.kubectl(asked) == "closed", "a pod that is not of the workspace"
    servers.bed.hosts["w1"].ask("systemctl restart groundcrew-pod-ports.service")
    assert (
        servers.kubectl(f"-n {space} exec inside-w1 -- /probe connect {servers.master.address}:6443")
        == "closed"
    ), "also once the rules were loaded anew"
    servers.kubectl(f"delete namespace {space} --wait=false")


def test_the_device_plugin_offers_two_stand_ins_on_each_node_and_takes_a_broken_one_back(
    with_programs: Cluster,
) -> None:
    with_programs.apply(DEVICES)
    count = "get nodes -o jsonpath='{.items[*].status.allocatable.nvidia\\.com/gpu}' | grep -x"
    with_programs.wait(f"{count} '2 2 2'")
    broken = "/var/lib/kubelet/device-plugins/stand-in-broken"
    with_programs.bed.hosts["w1"].ask(f"echo stand-in-1 > {broken}")
    with_programs.wait(f"{count} '2 1 2'")
    with_programs.bed.hosts["w1"].ask(f"rm {broken}")
    with_programs.wait(f"{count} '2 2 2'")


def test_two_ranks_train_in_the_default_image_of_the_registry_of_their_own_site(
    with_programs: Cluster,
) -> None:
    """Admitted by Kueue, started by the MPI operator, its image pulled by a node that has never seen it."""
    image = json.loads(with_programs.master.ask(REFERENCES))["cpu"]
    assert with_programs.master.address in image
    with_programs.apply(DEVICES)
    with_programs.apply(QUEUE)
    with_programs.apply(training("digits", image, "mpiuser"))
    with_programs.wait("wait --for=condition=Succeeded mpijob/digits --timeout=5s", 900)
    said = with_programs.kubectl("logs job/digits-launcher")
    assert {line.split()[1] for line in said.splitlines() if line.startswith("rank ")} == {"0", "1"}
    assert said.count("stand-in-") == 2, said
    workload = json.loads(with_programs.kubectl("get workloads -o json"))["items"][0]
    assert "Admitted" in {each["type"] for each in workload["status"]["conditions"]}
    with_programs.kubectl("delete mpijob digits")


def test_a_pod_of_each_node_multiplies_and_the_verdict_says_what_stood_in(with_programs: Cluster) -> None:
    """In the image of jobs, on the units that the stand-in offers; the same role is the end of every run."""
    with_programs.apply(DEVICES)
    count = "get nodes -o jsonpath='{.items[*].status.allocatable.nvidia\\.com/gpu}' | grep -x '2 2 2'"
    with_programs.wait(count)
    played = with_programs.play("--tags", "verify").must_succeed()
    output = " ".join(played.output.split())
    for host in with_programs.hosts:
        assert f"{host.name}: a pod had stand-in-" in output
    assert output.count("multiplied on the CPU (simulated: no GPU is real)") == len(with_programs.hosts)
    assert set(played.changed.values()) == {0}
    assert with_programs.kubectl("-n groundcrew-verify get pods --no-headers --ignore-not-found") == ""


def test_certificates_have_days_left(installed: Cluster) -> None:
    """The control plane's a year, the authorities ten."""
    said = installed.master.ask("kubeadm certs check-expiration --output json 2>/dev/null")
    told = json.loads(said)
    days = {each["name"]: each["residualTime"] / 86_400 for each in told["certificates"]}
    assert {"apiserver", "etcd-server", "admin.conf"} <= set(days) and min(days.values()) > 300, days
    assert min(each["residualTime"] for each in told["certificateAuthorities"]) / 86_400 > 3000


def test_a_backup_takes_etcd_along_and_a_fresh_etcd_comes_up_on_it(installed: Cluster) -> None:
    """By the task worker's own unit, which may do no more than it does at night."""
    master = installed.master
    master.ask("systemctl start groundcrew-etcd-snapshot.service")
    newest = master.ask("ls -t /var/lib/groundcrew/etcd-snapshots | grep -x 'etcd-.*[.]db' | head -1")
    make_token(master)
    number = in_python(master, BACK_UP)
    state = ask_rows(f"select state from operations where id = {number}")
    master.wait_until(f"{state} | grep -xE 'finished|failed|interrupted'", 600)
    assert master.ask(state) == "finished", master.ask(
        ask_rows(f"select error_code, error_data from operations where id = {number}")
    )
    manifest = json.loads(master.ask(f"cat /var/lib/groundcrew/backups/{newest}.zst.json"))
    assert manifest["restored_at"] and manifest["keys"] > 100 and not manifest["problem"], manifest
    note(
        f"gc-kube: etcd with {manifest['keys']} keys came up from its backup in {manifest['restore_seconds']} s"
    )


@pytest.mark.long
def test_a_second_run_changes_nothing(installed: Cluster) -> None:
    second = installed.play().must_succeed()
    assert set(second.changed.values()) == {0}, second.changed_tasks()


def test_no_packet_has_left_the_hosts_own_network(installed: Cluster) -> None:
    inside, outside = installed.egress.count()
    assert inside > 1000 and outside == 0
