"""Roles configure kubeadm, the kubelet, flannel and the firewall by the facts of each machine."""

from typing import Any

import pytest
import yaml

from tests.unit.roles.rendering import render, value_of

CONTAINER = {"hostname": "Node-M", "virtualization_type": "docker", "default_ipv4": {"address": "10.0.0.10"}}
MACHINE = {**CONTAINER, "virtualization_type": "kvm"}
HOSTS = {
    "m": {"base_address": "10.0.0.10", "ansible_facts": MACHINE},
    "w": {"ansible_facts": {"hostname": "w", "default_ipv4": {"address": "10.0.0.11"}}},
}


def given(**more: Any) -> dict[str, Any]:
    return {
        "inventory_hostname": "m",
        "groups": {"groundcrew": ["m", "w"], "master": ["m"], "worker": ["w"]},
        "hostvars": HOSTS,
        "ansible_facts": MACHINE,
        "ansible_play_hosts": ["m", "w"],
        "kubernetes_seen": {"kubernetes": {"cgroup": 2, "containerd": "1.7.24", "node_addresses": []}},
        **more,
    }


def documents(template: str, **more: Any) -> dict[str, dict[str, Any]]:
    found = yaml.safe_load_all(render("kubernetes", template, **given(**more)))
    return {each["kind"]: each for each in found}


def test_the_control_plane_is_where_the_master_is_and_asks_no_registry_for_what_is_here() -> None:
    told = documents("cluster.yaml")
    begun, cluster = told["InitConfiguration"], told["ClusterConfiguration"]
    assert begun["localAPIEndpoint"] == {"advertiseAddress": "10.0.0.10", "bindPort": 6443}
    assert begun["nodeRegistration"]["name"] == "node-m"
    assert begun["nodeRegistration"]["imagePullPolicy"] == "IfNotPresent"
    assert begun["bootstrapTokens"] == [{"ttl": "1m0s"}]
    assert cluster["controlPlaneEndpoint"] == "10.0.0.10:6443"
    assert cluster["imageRepository"] == "registry.k8s.io"
    assert cluster["etcd"]["local"]["imageTag"] and cluster["dns"]["imageTag"].startswith("v")
    assert "10.0.0.10" in cluster["apiServer"]["certSANs"]


def test_controllers_may_ask_more_than_kubeadm_lets_them() -> None:
    told = documents("cluster.yaml")["ClusterConfiguration"]["controllerManager"]["extraArgs"]
    assert told == [{"name": "kube-api-qps", "value": "100"}, {"name": "kube-api-burst", "value": "200"}]


@pytest.mark.parametrize(("workers", "is_tainted"), [(["w"], True), (["m", "w"], False)])
def test_the_master_runs_pods_of_jobs_where_it_is_a_worker_node_too(
    workers: list[str], is_tainted: bool
) -> None:
    told = documents("cluster.yaml", groups={"groundcrew": ["m", "w"], "master": ["m"], "worker": workers})
    assert bool(told["InitConfiguration"]["nodeRegistration"]["taints"]) is is_tainted


def test_a_container_is_asked_for_nothing_that_it_may_not_do() -> None:
    for facts, is_container in ((CONTAINER, True), (MACHINE, False)):
        proxy = documents("cluster.yaml", ansible_facts=facts)["KubeProxyConfiguration"]
        kubelet = documents("kubelet.yaml", ansible_facts=facts)["KubeletConfiguration"]
        assert ("oomScoreAdj" in proxy, "oomScoreAdj" in kubelet) == (is_container, is_container)
        assert ("conntrack" in proxy) is is_container and proxy["mode"] == "nftables"


def test_what_gave_up_while_the_api_server_was_away_is_back_soon_after_it() -> None:
    kubelet = documents("kubelet.yaml")["KubeletConfiguration"]
    assert kubelet["crashLoopBackOff"] == {"maxContainerRestartPeriod": "10s"}
    assert kubelet["featureGates"] == {"KubeletCrashLoopBackOffMax": True}


@pytest.mark.parametrize(("cgroup", "said"), [(1, {"failCgroupV1": False}), (2, {})])
def test_the_kubelet_is_told_about_control_groups_of_the_first_version_alone(
    cgroup: int, said: dict[str, bool]
) -> None:
    seen = {"kubernetes": {"cgroup": cgroup, "containerd": "1.7.24"}}
    kubelet = documents("kubelet.yaml", kubernetes_seen=seen)["KubeletConfiguration"]
    assert {name: kubelet[name] for name in kubelet if name == "failCgroupV1"} == said


@pytest.mark.parametrize(
    ("containerd", "bundle", "limit"),
    [("1.6.20", "/srv/bundle", 100), ("1.7.24", "/srv/bundle", 85), ("1.6.20", "", 85), ("", "/srv/b", 100)],
)
def test_images_that_nobody_could_bring_again_are_never_deleted(
    containerd: str, bundle: str, limit: int
) -> None:
    seen = {"kubernetes": {"cgroup": 2, "containerd": containerd}}
    told = documents("kubelet.yaml", kubernetes_seen=seen, groundcrew_bundle=bundle)
    assert told["KubeletConfiguration"]["imageGCHighThresholdPercent"] == limit


def test_what_lies_on_a_node_about_joining_holds_no_token() -> None:
    (told,) = documents("join.yaml").values()
    assert told["discovery"]["bootstrapToken"] == {
        "apiServerEndpoint": "10.0.0.10:6443",
        "token": "TOKEN",
        "caCertHashes": ["sha256:FINGERPRINT"],
    }
    assert told["patches"] == {"directory": "/etc/groundcrew/kubernetes/patches"}


@pytest.mark.parametrize(("cgroup", "ignored"), [(1, ["SystemVerification"]), (2, None)])
def test_kubeadm_looks_past_control_groups_of_the_first_version_alone(
    cgroup: int, ignored: list[str] | None
) -> None:
    seen = {"kubernetes": {"cgroup": cgroup, "containerd": "2.3.5", "node_addresses": []}}
    told = documents("cluster.yaml", kubernetes_seen=seen) | documents("join.yaml", kubernetes_seen=seen)
    for kind in ("InitConfiguration", "JoinConfiguration"):
        assert told[kind]["nodeRegistration"].get("ignorePreflightErrors") == ignored


def daemon(**more: Any) -> dict[str, Any]:
    given_ = {"kubernetes_closed_pods": "#!/bin/sh\n", **more}
    kustomization = yaml.safe_load(render("kubernetes", "flannel.yaml", **given(**given_)))
    patches = [yaml.safe_load(each["patch"]) for each in kustomization["patches"]]
    return {each["kind"]: each for each in patches}


def test_pods_speak_over_the_interface_of_the_nodes_address_or_the_one_that_was_named() -> None:
    for interface, wanted in (("", "--iface=$(NODE_ADDRESS)"), ("^10[.]20[.]", "--iface-regex=^10[.]20[.]")):
        found = daemon(kubernetes_pod_interface=interface)["DaemonSet"]["spec"]["template"]["spec"]
        (container,) = found["containers"]
        assert wanted in container["args"]
        assert {"name": "cni-plugin", "hostPath": {"path": "/usr/lib/cni"}} in found["volumes"]


def test_pods_reach_two_ports_of_every_node() -> None:
    rules = render("kubernetes", "pod-ports.nft", **given(groundcrew_portal_port=8443))
    assert "elements = { 10.0.0.10, 10.0.0.11 }" in rules
    assert "tcp dport { 6443, 8443 } accept" in rules
    assert rules.count("jump ports") == 2


def test_the_ports_of_a_host_that_this_run_knows_nothing_of_stay_closed_to_pods() -> None:
    seen = {"kubernetes": {"cgroup": 2, "containerd": "1.7.24", "node_addresses": ["10.0.0.10", "10.0.0.11"]}}
    for unknown in ({"ansible_facts": {}}, {"base_address": "", "ansible_facts": {}}):
        known = given(hostvars={**HOSTS, "w": unknown}, kubernetes_seen=seen)
        assert value_of("kubernetes", "kubernetes_told_addresses", **known) == ["10.0.0.10", ""]
        assert "elements = { 10.0.0.10, 10.0.0.11 }" in render("kubernetes", "pod-ports.nft", **known)


def test_a_host_is_closed_by_the_address_that_it_was_given_for_kubernetes() -> None:
    hosts = {**HOSTS, "w": {"kubernetes_address": "10.9.0.11", "base_address": "10.0.0.11"}}
    assert value_of("kubernetes", "kubernetes_node_addresses", **given(hostvars=hosts)) == [
        "10.0.0.10",
        "10.9.0.11",
    ]


@pytest.mark.parametrize(("host", "count"), [("m", 9), ("w", 5)])
def test_each_node_has_the_images_that_it_needs(host: str, count: int) -> None:
    images = value_of("kubernetes", "kubernetes_images", **given(inventory_hostname=host))
    assert len(images) == count
    assert any("pause" in image for image in images)
    assert any("etcd" in image for image in images) is (host == "m")
