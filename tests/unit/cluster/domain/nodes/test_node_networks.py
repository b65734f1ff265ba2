"""The inventory says which interfaces a node has for training; the ranks of jobs meet over those that are up."""

from typing import Any

import pytest

from cluster.domain.nodes.node_networks import (
    interfaces_for,
    network_variables,
    purposes_of,
    rank_interfaces,
    usable_training_interfaces,
)


def facts(training: Any, *up: str, down: str = "ens9") -> dict[str, Any]:
    seen = [{"name": name, "is_up": True} for name in up] + [{"name": down, "is_up": False}]
    return {"interface_purposes": {"management": ["eno1"], "training": training}, "interfaces": seen}


@pytest.mark.parametrize(
    ("found", "usable"),
    [
        (facts(["ens1", "ens2"], "eno1", "ens1", "ens2"), ("ens1", "ens2")),
        (facts(["ens9", "ens1"], "ens1"), ("ens1",)),
        (facts(["ens7"], "ens1"), ()),
        (facts("ens1", "ens1"), ()),
        (facts(["ens1,ens2", "^ens1", 7, "x" * 16], "ens1,ens2", "^ens1"), ()),
        ({"interface_purposes": ["ens1"]}, ()),
        ({"interface_purposes": {"training": ["ens1"]}, "interfaces": None}, ()),
        ({}, ()),
    ],
)
def test_ranks_use_named_interfaces_that_are_up(found: dict[str, Any], usable: tuple[str, ...]) -> None:
    assert usable_training_interfaces(found) == usable


def test_an_interface_may_have_several_purposes() -> None:
    found = facts(["eno1"], "eno1")
    assert purposes_of(found, "eno1") == ("management", "training") and purposes_of(found, "ens1") == ()
    assert interfaces_for(found, "infiniband") == ()


@pytest.mark.parametrize(
    ("nodes", "shares_host_network", "interfaces"),
    [
        ([facts(["ens1"], "ens1")], False, ("eth0",)),
        ([], False, ("eth0",)),
        ([facts(["ens1"], "ens1")], True, ("ens1",)),
        ([facts(["ens1"], "ens1"), facts(["ens2", "ens1"], "ens1", "ens2")], True, ("ens1", "ens2")),
        ([facts(["ens1"], "ens1"), {}], True, ()),
    ],
)
def test_pods_have_eth0_and_programs_on_the_hosts_network_what_their_nodes_have(
    nodes: list[dict[str, Any]], shares_host_network: bool, interfaces: tuple[str, ...]
) -> None:
    assert rank_interfaces(nodes, shares_host_network) == interfaces


def test_nccl_and_gloo_are_told_whole_names() -> None:
    assert network_variables(()) == {}
    assert network_variables(("ens1", "ens2")) == {
        "NCCL_SOCKET_IFNAME": "=ens1,ens2",
        "GLOO_SOCKET_IFNAME": "ens1",
    }
