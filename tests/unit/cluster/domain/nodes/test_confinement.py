"""A node's page lists the gaps in what confines its jobs."""

from typing import Any

import pytest

from cluster.domain.nodes.confinement import GAP_CODES, list_confinement_gaps

ALL = dict.fromkeys(GAP_CODES, True) | {"root": True, "stop": "cgroup-v1", "refused": {}}
CLOSED = "Operation not permitted"


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, []),
        ({"stop": "cgroup-v2"}, []),
        ({"stop": "scan"}, ["no_stop"]),
        ({"root": False, "stop": "scan", "tmp": False}, ["without_root", "no_stop"]),
        ({"memory": False, "devices": False}, ["no_memory", "no_devices"]),
        ({"tmp": False, "refused": {"tmp": CLOSED}}, ["no_tmp"]),
        ({"metadata_address": None}, ["no_metadata_address"]),
        ({"failed": "it ended with 1"}, ["unknown"]),
    ],
)
def test_what_is_not_enforced_is_named(changes: dict[str, Any], codes: list[str]) -> None:
    assert [each.code for each in list_confinement_gaps(ALL | changes)] == [
        f"confinement.{code}" for code in codes
    ]


def test_it_is_said_with_the_kernels_own_words() -> None:
    (weakness,) = list_confinement_gaps(ALL | {"system": False, "refused": {"system": CLOSED}})
    assert weakness.data == {"why": CLOSED}


def test_what_nobody_reported_counts_as_not_enforced() -> None:
    assert len(list_confinement_gaps({"root": True})) == 1 + len(GAP_CODES)
