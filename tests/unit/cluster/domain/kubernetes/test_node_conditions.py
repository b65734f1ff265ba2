"""Conditions of a node become reasons and pressures."""

import pytest

from cluster.domain.kubernetes.node_conditions import node_pressures, reason_of_node
from cluster.domain.kubernetes.reasons import kubernetes_reason_data
from tests.unit.cluster.domain.kubernetes.message_cases import Case, Read, cases_of, check_reason


@pytest.mark.parametrize(("thing", "read", "means"), cases_of("nodes.yml"))
def test_what_is_said_is_understood(thing: Case, read: Read, means: Case | None) -> None:
    check_reason(read(thing), means)


def test_a_node_that_never_reported_is_silent() -> None:
    reason = reason_of_node({"metadata": {"name": "gpu01"}})
    assert reason is not None and kubernetes_reason_data(reason) == {"node": "gpu01"}


def test_a_node_says_what_it_runs_short_of() -> None:
    conditions = [
        {"type": "MemoryPressure", "status": "True"},
        {"type": "DiskPressure", "status": "False"},
        {"type": "PIDPressure", "status": "Unknown"},
    ]
    assert node_pressures({"status": {"conditions": conditions}}) == ("memory",)
