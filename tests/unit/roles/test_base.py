"""The way in for repairs: from where, and to which hosts."""

from typing import Any

from tests.unit.roles.rendering import value_of

MASTER, WORKER = "gpu-master", "gpu-worker-1"


def repair(host: str, name: str) -> object:
    known: dict[str, Any] = {
        "groups": {"master": [MASTER]},
        "hostvars": {MASTER: {"base_address": "10.0.0.10", "ansible_facts": {"default_ipv4": {}}}},
        "inventory_hostname": host,
        "base_address": {MASTER: "10.0.0.10", WORKER: "10.0.0.11"}[host],
    }
    return value_of("base", name, **known)


def test_the_repair_key_is_let_in_from_the_master_alone() -> None:
    assert repair(WORKER, "base_repair_from") == ["10.0.0.10"]
    assert repair(MASTER, "base_repair_from") == ["10.0.0.10", "127.0.0.1", "::1"]


def test_a_host_is_pinned_by_its_name_and_its_address() -> None:
    assert repair(WORKER, "base_repair_names") == "gpu-worker-1,10.0.0.11"
