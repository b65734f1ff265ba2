"""A GPU is given to a job by the number of its device file."""

import pytest

from cluster.domain.nodes.gpu_minors import gpu_minors_of


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"GPU-a": 3, "GPU-b": 0}, {"GPU-a": 3}),
        ({"GPU-a": "3"}, {}),
        ({"GPU-a": 2**20}, {}),
        ("garbage", {}),
        (None, {}),
    ],
)
def test_an_agent_tells_which_device_file_is_which_gpu(told: object, expected: dict[str, int]) -> None:
    assert gpu_minors_of({"gpu_minors": told}, ["GPU-a"]) == expected
