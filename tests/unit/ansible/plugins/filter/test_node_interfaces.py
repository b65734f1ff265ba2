"""Interfaces by purpose: the inventory's words first, then what is there."""

from typing import Any

import pytest

from tests.unit.roles.rendering import own_filters

BY_PURPOSE = own_filters()["interfaces_by_purpose"]
RDMA = [{"name": "ibp65s0", "kind": "infiniband"}, {"name": "ens1f0np0", "kind": "ethernet"}]


@pytest.mark.parametrize(
    ("named", "rdma", "expected"),
    [
        ({}, [], {"management": ["eno1"], "training": ["eno1"], "infiniband": []}),
        ({}, RDMA, {"management": ["eno1"], "training": ["eno1"], "infiniband": ["ibp65s0"]}),
        (
            {"training": ["ens1f0np0", "ens1f1np1"], "management": "eno2"},
            RDMA,
            {"management": ["eno2"], "training": ["ens1f0np0", "ens1f1np1"], "infiniband": ["ibp65s0"]},
        ),
    ],
)
def test_each_purpose_has_its_interfaces(
    named: dict[str, Any], rdma: list[dict[str, str]], expected: dict[str, list[str]]
) -> None:
    assert BY_PURPOSE(named, "eno1", rdma) == expected


def test_a_word_that_is_no_purpose_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="storage; its words are management, training, infiniband"):
        BY_PURPOSE({"storage": "eno3"}, "eno1", [])
