"""A workspace's network policy lets the portal's addresses in to a notebook."""

from typing import Any

import pytest

from worker.kubernetes.namespaces.portal_addresses import CONTROL_PLANE, portal_address_blocks


def node(name: str, address: str, *pods: str, is_master: bool = False) -> dict[str, Any]:
    addresses = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}]
    return {
        "metadata": {"name": name, "labels": {CONTROL_PLANE: ""} if is_master else {}},
        "spec": {"podCIDR": pods[0], "podCIDRs": list(pods)} if pods else {},
        "status": {"addresses": addresses},
    }


@pytest.mark.parametrize(
    ("nodes", "blocks"),
    [
        ([], []),
        ([node("w1", "10.0.0.11", "10.244.1.0/24")], []),
        (
            [
                node("m", "10.0.0.10", "10.244.0.0/24", is_master=True),
                node("w1", "10.0.0.11", "10.244.1.0/24"),
            ],
            ["10.0.0.10/32", "10.244.0.0/32"],
        ),
        ([node("m", "10.0.0.10", is_master=True)], ["10.0.0.10/32"]),
        (
            [node("m", "fd00::10", "fd01::/64", "10.244.0.0/24", is_master=True)],
            ["10.244.0.0/32", "fd00::10/128", "fd01::/128"],
        ),
        ([{"metadata": {"labels": {CONTROL_PLANE: ""}}}], []),
    ],
    ids=["nothing", "workers", "master", "without pods", "both families", "just joined"],
)
def test_the_portal_speaks_from_the_masters_own_address_and_from_flannels(
    nodes: list[dict[str, Any]], blocks: list[str]
) -> None:
    assert portal_address_blocks(nodes) == blocks
