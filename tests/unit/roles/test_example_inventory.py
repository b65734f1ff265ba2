"""What an inventory asks for that names hosts and nothing else."""

from typing import Any

import pytest
import yaml

from tests.unit.roles.rendering import ROOT, render, value_of


def example() -> dict[str, Any]:
    """The example with its own addresses, as Ansible knows it."""
    told = yaml.safe_load((ROOT / "inventory" / "example.yml").read_text())["groundcrew"]
    groups = {name: list(group["hosts"]) for name, group in told["children"].items()}
    groups["groundcrew"] = [host for hosts in groups.values() for host in hosts]
    addresses = {name: own for group in told["children"].values() for name, own in group["hosts"].items()}
    facts = {
        name: {"ansible_facts": {"default_ipv4": {"address": own["ansible_host"]}, "hostname": name}}
        for name, own in addresses.items()
    }
    return {"groups": groups, "hostvars": facts, "inventory_hostname": groups["master"][0], **told["vars"]}


@pytest.mark.parametrize(
    ("role", "name", "value"),
    [
        ("kubernetes", "groundcrew_kubernetes", True),
        ("kubernetes", "groundcrew_executor", "kubernetes"),
        ("storage", "storage_kind", "nfs"),
        ("storage", "storage_is_served", True),
        ("storage", "storage_clients", ["10.0.0.11", "10.0.0.12", "10.0.0.13"]),
    ],
)
def test_the_example_is_a_cluster_with_the_masters_files_on_every_host(
    role: str, name: str, value: object
) -> None:
    assert value_of(role, name, **example()) == value


@pytest.mark.parametrize(
    ("more", "kubernetes", "executor", "kind"),
    [
        ({"groundcrew_kubernetes": False}, False, "process", "local"),
        ({"groundcrew_kubernetes": "no"}, "no", "process", "local"),
        ({"groundcrew_executor": "process"}, True, "process", "local"),
        ({"storage_kind": "mounted"}, True, "kubernetes", "mounted"),
    ],
)
def test_one_line_takes_it_back(more: dict[str, Any], kubernetes: object, executor: str, kind: str) -> None:
    known = example() | more
    names = ("groundcrew_kubernetes", "groundcrew_executor", "storage_kind")
    values = [known.get(name, value_of("storage", name, **known)) for name in names]
    assert values == [kubernetes, executor, kind]


def test_one_host_is_no_cluster() -> None:
    known = example()
    known["groups"] = {name: ["gpu-master"] for name in ("groundcrew", "master", "worker")}
    names = ("groundcrew_kubernetes", "groundcrew_executor", "storage_kind")
    assert [value_of("storage", name, **known) for name in names] == [False, "process", "local"]


def test_the_run_says_at_its_start_what_it_will_use() -> None:
    text = render("preflight", "choices", **example(), groundcrew_has_gpus=False)
    for words in (
        "Groundcrew on 4 hosts, master gpu-master",
        "pods on every host (groundcrew_executor: kubernetes), with one Kubernetes of all hosts",
        "gpu-master (the master serves it):/var/lib/groundcrew/storage by NFS",
    ):
        assert words in text
