"""What the conditions of a node say."""

from cluster.domain.kubernetes.node_conditions import node_pressures, reason_of_node
from cluster.domain.kubernetes.reasons import kubernetes_reason_data


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
