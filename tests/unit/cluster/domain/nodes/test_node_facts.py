"""How full a node's disk is, is computed from what its agent reports."""

import pytest

from cluster.domain.nodes.node_facts import disk_used_share


@pytest.mark.parametrize(
    ("facts", "share"),
    [
        ({"disk_bytes": 1000, "disk_free_bytes": 250}, 0.75),
        ({"disk_bytes": 1000, "disk_free_bytes": 0}, 1),
        ({"disk_bytes": 0, "disk_free_bytes": 0}, None),
        ({"disk_bytes": "1000", "disk_free_bytes": 250}, None),
        ({"disk_bytes": 1000, "disk_free_bytes": 1001}, None),
        ({"disk_bytes": 10**400, "disk_free_bytes": 1}, None),
        ({"disk_bytes": float("inf"), "disk_free_bytes": float("nan")}, None),
        ({"disk_bytes": 1000}, None),
        ({}, None),
    ],
)
def test_the_used_share_of_a_disk_is_known_if_both_sizes_are(facts: dict[str, object], share: float) -> None:
    assert disk_used_share(facts) == share
