"""Quantities and requests are read from Kubernetes' objects."""

import pytest

from cluster.domain.kubernetes.api_objects import parse_quantity, requested_units

LIMITS = {"limits": {"memory": "4Gi", "nvidia.com/gpu": "2"}}


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2), ("500m", 0.5), ("4Gi", 4 * 2**30), ("1k", 1000), (None, 0), (3, 3), ("", 0), ("x", 0)],
)
def test_quantities_are_numbers(text: object, number: float) -> None:
    assert float(parse_quantity(text)) == number


def test_a_pod_asks_for_the_sum_of_its_containers_or_its_largest_preparation() -> None:
    pod = {
        "spec": {
            "containers": [{"resources": LIMITS}, {"resources": {"requests": {"nvidia.com/gpu": 1}}}, {}],
            "initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}],
        }
    }
    assert requested_units(pod, "nvidia.com/gpu") == 4
    del pod["spec"]["initContainers"]
    assert requested_units(pod, "nvidia.com/gpu") == 3
    assert requested_units({"spec": {"containers": [{}]}}, "nvidia.com/gpu") == 0
