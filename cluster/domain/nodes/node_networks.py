"""Decides the purpose of each network interface of a node, and which interfaces the ranks of a job use."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cluster.domain.jobs.launch import POD_INTERFACE

PURPOSES_FACT = "interface_purposes"
"""The fact of a node's agent: interfaces by purpose, as the installer wrote them from `groundcrew_interfaces`."""
PURPOSES = ("management", "training", "infiniband")
INTERFACE_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,15}", re.ASCII)
"""The names that Linux accepts for an interface, without characters that have a meaning in a list of interfaces."""


def interfaces_for(facts: Mapping[str, Any], purpose: str) -> tuple[str, ...]:
    """The names of the interfaces for this purpose, the first one preferred."""
    purposes = facts.get(PURPOSES_FACT)
    names = purposes.get(purpose) if isinstance(purposes, dict) else None
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names if isinstance(name, str) and INTERFACE_NAME.fullmatch(name))


def purposes_of(facts: Mapping[str, Any], interface: str) -> tuple[str, ...]:
    """The purposes of the interface."""
    return tuple(purpose for purpose in PURPOSES if interface in interfaces_for(facts, purpose))


def usable_training_interfaces(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the training interfaces that are up according to the agent. A library that is given any other one ends
    at once.
    """
    up = {
        each.get("name")
        for each in facts.get("interfaces") or []
        if isinstance(each, dict) and each.get("is_up")
    }
    return tuple(name for name in interfaces_for(facts, "training") if name in up)


def rank_interfaces(nodes: Sequence[Mapping[str, Any]], shares_host_network: bool) -> tuple[str, ...]:
    """The interfaces over which ranks on these nodes, given by their facts, meet by TCP; empty if nothing is known.

    Programs with a network of their own have one interface whatever the node has. On the network of the hosts the
    result names the interfaces of all nodes, each once, and each rank takes those that its own node has.
    """
    if not shares_host_network:
        return (POD_INTERFACE,)
    each = [usable_training_interfaces(facts) for facts in nodes]
    return tuple(dict.fromkeys(name for names in each for name in names)) if all(each) else ()


def network_variables(interfaces: Sequence[str]) -> dict[str, str]:
    """The variables of NCCL and Gloo for ranks on one host; NCCL's `=` asks for whole names."""
    if not interfaces:
        return {}
    return {"NCCL_SOCKET_IFNAME": "=" + ",".join(interfaces), "GLOO_SOCKET_IFNAME": interfaces[0]}
