"""The address blocks from which the portal reaches pods, for their network policies."""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network

from worker.kubernetes.api_client import KubernetesObject

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
"""The label of masters; the portal runs on them."""


def portal_address_blocks(nodes: Sequence[KubernetesObject]) -> list[str]:
    """The blocks of all masters, sorted; each block holds one address."""
    masters = [node for node in nodes if CONTROL_PLANE in (node["metadata"].get("labels") or {})]
    return sorted({block for node in masters for block in node_address_blocks(node)})


def node_address_blocks(node: KubernetesObject) -> Iterator[str]:
    """The node's own address, and the first of its pod network, which flannel takes.

    Pods of other nodes see the node's traffic come from flannel's address.

    https://github.com/flannel-io/flannel/blob/v0.28.4/pkg/backend/vxlan/vxlan.go
    """
    for each in (node.get("status") or {}).get("addresses") or ():
        if each["type"] == "InternalIP":
            yield str(ip_network(ip_address(each["address"])))
    spec = node.get("spec") or {}
    for pods in spec.get("podCIDRs") or filter(None, [spec.get("podCIDR")]):
        yield str(ip_network(ip_network(pods).network_address))
