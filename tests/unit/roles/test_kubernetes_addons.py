"""Roles patch upstream's manifests by the hardware that the hosts of a run have."""

import base64
from typing import Any

import pytest
import yaml

from tests.unit.roles.rendering import ROOT, render, rendered, value_of

PLAIN = {"node": "w1", "host": "w1", "gpus": False, "rdma": False, "model": "none", "has_cdi": False}
CARD = {"node": "w2", "host": "w2", "gpus": True, "rdma": True, "model": "nvidia-h200", "has_cdi": True}
BEFORE: dict[str, Any] = {"kubernetes_addons_before": {}}
"""What the master slurps; there is no such file before its first run."""


def given(*facts: dict[str, Any]) -> dict[str, Any]:
    hosts = {each["node"]: {"kubernetes_addons_facts": each} for each in facts}
    return {
        "ansible_play_hosts": list(hosts),
        "hostvars": hosts,
        "groups": {"groundcrew": list(hosts)},
        **BEFORE,
    }


def patches(template: str, *facts: dict[str, Any]) -> list[dict[str, Any]]:
    kustomization = yaml.safe_load(render("kubernetes_addons", f"{template}.yaml", **given(*facts)))
    assert kustomization["resources"] == ["upstream.yaml"]
    return [yaml.safe_load(each["patch"]) for each in kustomization["patches"]]


@pytest.mark.parametrize(
    ("facts", "chosen"),
    [
        ([PLAIN], ["mpi_operator", "kueue"]),
        ([PLAIN, CARD], ["mpi_operator", "kueue", "nvidia_device_plugin", "rdma_device_plugin"]),
        ([CARD | {"rdma": False}], ["mpi_operator", "kueue", "nvidia_device_plugin"]),
    ],
)
def test_a_device_plugin_comes_where_a_host_has_its_device(
    facts: list[dict[str, Any]], chosen: list[str]
) -> None:
    assert value_of("kubernetes_addons", "kubernetes_addons_chosen", **given(*facts)) == chosen


def test_gpus_come_by_cdi_where_every_containerd_knows_it() -> None:
    (patch,) = patches("nvidia_device_plugin", CARD, PLAIN)
    pod = patch["spec"]["template"]["spec"]
    variables = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    assert variables["DEVICE_LIST_STRATEGY"] == "cdi-cri" and variables["DEVICE_ID_STRATEGY"] == "uuid"
    assert "runtimeClassName" not in pod and pod["nodeSelector"] == {"groundcrew/has-gpus": "true"}


def test_gpus_come_by_the_older_way_where_one_containerd_does_not() -> None:
    (patch,) = patches("nvidia_device_plugin", CARD, CARD | {"node": "w3", "has_cdi": False})
    pod = patch["spec"]["template"]["spec"]
    variables = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    assert variables["DEVICE_LIST_STRATEGY"] == "envvar" and pod["runtimeClassName"] == "nvidia"
    assert "volumes" not in pod


def test_rdma_cards_are_shared_by_as_many_pods_as_was_said() -> None:
    config, daemon = patches("rdma_device_plugin", CARD)
    (shared,) = yaml.safe_load(config["data"]["config.json"])["configList"]
    assert shared["rdmaHcaMax"] == 1000 and shared["selectors"] == {
        "vendors": ["15b3"],
        "linkTypes": ["infiniband"],
    }
    assert daemon["spec"]["template"]["spec"]["nodeSelector"] == {"groundcrew/has-rdma": "true"}


def test_an_image_of_the_bundle_is_not_asked_for_at_a_registry() -> None:
    patch, *_ = patches("kueue", PLAIN)
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["imagePullPolicy"]) == ("manager", "IfNotPresent")


def test_a_kueue_that_stands_still_since_it_found_no_api_server_is_ended_within_half_a_minute() -> None:
    patch, *_ = patches("kueue", PLAIN)
    probe = patch["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]
    assert 15 <= probe["periodSeconds"] * probe["failureThreshold"] <= 30 and probe["timeoutSeconds"] > 1


def test_gangs_that_begin_together_need_not_wait_for_the_operators_own_limit() -> None:
    patch, *_ = patches("mpi_operator", PLAIN)
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "mpi-operator" and "image" not in container
    assert {"--lock-namespace=mpi-operator", "--kube-api-qps=50", "--kube-api-burst=100"} < set(
        container["args"]
    )


def test_the_network_of_the_pods_does_not_wait_for_kueue_which_needs_it() -> None:
    _, *configurations = patches("kueue", PLAIN)
    assert [each["kind"][:8] for each in configurations] == ["Mutating", "Validati"]
    for webhook in [each for found in configurations for each in found["webhooks"]]:
        (selector,) = webhook["namespaceSelector"]["matchExpressions"]
        assert selector["operator"] == "NotIn" and {"kube-flannel", "kueue-system"} <= set(selector["values"])
    assert [each["name"] for each in configurations[1]["webhooks"]][0] == "vpod.kb.io"


def test_each_kind_of_gpu_is_a_flavour_and_each_node_says_its_own() -> None:
    known = given(PLAIN, CARD, CARD | {"node": "w3"})
    lines = [line for line in render("kubernetes_addons", "nodes", **known).splitlines() if line[:1] != "#"]
    assert [line.split()[:2] for line in lines] == [
        ["w1", "groundcrew/gpu-model=none"],
        ["w2", "groundcrew/gpu-model=nvidia-h200"],
        ["w3", "groundcrew/gpu-model=nvidia-h200"],
    ]
    text = render("kubernetes_addons", "units.yaml", **known)
    flavours = [each for each in yaml.safe_load_all(text) if each]
    assert {each["kind"] for each in flavours} == {"ResourceFlavor"}, (
        "a node comes into being by its kubelet alone"
    )
    assert [each["metadata"]["name"] for each in flavours] == ["cpu", "nvidia-h200"]
    assert flavours[1]["spec"]["nodeLabels"] == {"groundcrew/gpu-model": "nvidia-h200"}


def test_a_host_that_a_run_leaves_out_keeps_its_word_until_it_is_taken_out_of_the_inventory() -> None:
    """The plugins are one for the whole cluster: its old containerd and its card count all the same."""
    old = CARD | {"node": "dgx01", "host": "W3", "has_cdi": False}
    file = base64.b64encode(render("kubernetes_addons", "nodes", **given(PLAIN, old)).encode()).decode()
    known = given(PLAIN) | {"kubernetes_addons_before": {"content": file}}
    known["groups"] = {"groundcrew": ["w1", "W3"]}
    assert value_of("kubernetes_addons", "kubernetes_addons_all", **known) == [PLAIN, old]
    assert value_of("kubernetes_addons", "kubernetes_addons_by_cdi", **known) is False
    assert "nvidia_device_plugin" in value_of("kubernetes_addons", "kubernetes_addons_chosen", **known)
    known["groups"] = {"groundcrew": ["w1"]}
    assert value_of("kubernetes_addons", "kubernetes_addons_all", **known) == [PLAIN]


@pytest.mark.parametrize("template", ["kueue", "mpi_operator"])
def test_a_lost_worker_takes_no_operator_along(template: str) -> None:
    kustomization = yaml.safe_load(render("kubernetes_addons", f"{template}.yaml", **given(PLAIN)))
    read = [yaml.safe_load(each["patch"]) for each in kustomization["patches"]]
    (deployment,) = [each for each in read if isinstance(each, dict) and each["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"node-role.kubernetes.io/control-plane": ""}
    assert pod["tolerations"][0]["key"] == "node-role.kubernetes.io/control-plane"


def test_nodes_are_labelled_before_their_plugins_are_waited_for_and_their_gpus_counted_last() -> None:
    """Without its label a node wants no plugin, and none is missed."""
    tasks = yaml.safe_load((ROOT / "roles/kubernetes_addons/tasks/units.yml").read_text())
    names = [task["name"] for task in tasks]
    wanted = [
        "Say at each node what it has",
        "Wait until the add-ons are ready",
        "Have the flavours in the cluster",
        "See that pods may ask for every GPU",
    ]
    assert [name for name in names if name in wanted] == wanted


@pytest.mark.parametrize("addon", ["mpi_operator", "kueue", "nvidia_device_plugin", "rdma_device_plugin"])
def test_the_manifest_of_a_bundle_is_read_on_the_host_and_another_one_is_fetched(addon: str) -> None:
    fetch, write, _ = yaml.safe_load((ROOT / "roles/kubernetes_addons/tasks/one.yml").read_text())
    assert fetch["when"] == "not groundcrew_bundle"
    file = write["host_files"]["files"][0]
    known = {"omit": "left out", "kubernetes_addons_one": addon, "kubernetes_manifest_text": "text"}
    bundle, fetched = (
        [rendered(file[name], known | {"groundcrew_bundle": place}) for name in ("source", "content")]
        for place in ("/bundle", "")
    )
    assert bundle == [f"/bundle/files/kubernetes/{addon.replace('_', '-')}.yaml", "left out"]
    assert fetched == ["left out", "text"]
