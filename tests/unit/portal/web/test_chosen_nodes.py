"""Node ids come out of addresses and forms that anybody can write."""

import pytest

from cluster.store.base import LARGEST_ID
from portal.web.chosen_nodes import parse_node_ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" , ,", []),
        ("3", [3]),
        ("3, 1,2", [3, 1, 2]),
        ("gpu01,2", [0, 2]),
        ("-1,1.5,٣", [0, 0, 0]),
        (str(LARGEST_ID), [LARGEST_ID]),
        (str(LARGEST_ID + 1), [0]),
        ("9" * 5000, [0]),
    ],
)
def test_what_is_no_id_is_a_node_that_there_is_not(text: str, ids: list[int]) -> None:
    assert parse_node_ids(text) == ids
