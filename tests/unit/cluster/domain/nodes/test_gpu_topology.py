"""GPUs are grouped by what joins them: NVLink first, then PCIe switches."""

import pytest

from cluster.domain.nodes.gpu_topology import LinkedPair, find_gpu_islands

ALL = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("nvlinks", "switches", "expected"),
    [
        ([], [], {}),
        ([("a", "b"), ("b", "c"), ("c", "d")], [], dict.fromkeys(ALL, "nvlink-0")),
        ([("c", "d"), ("a", "b")], [], {"a": "nvlink-0", "b": "nvlink-0", "c": "nvlink-1", "d": "nvlink-1"}),
        ([], [("a", "c"), ("b", "d")], {"a": "pcie-0", "c": "pcie-0", "b": "pcie-1", "d": "pcie-1"}),
        (
            [("a", "b")],
            [("a", "b"), ("c", "d")],
            {"a": "nvlink-0", "b": "nvlink-0", "c": "pcie-0", "d": "pcie-0"},
        ),
        ([("a", "b")], [("b", "c")], {"a": "nvlink-0", "b": "nvlink-0"}),
        ([("a", "d"), ("d", "a")], [], {"a": "nvlink-0", "d": "nvlink-0"}),
    ],
)
def test_islands_follow_the_links(
    nvlinks: list[LinkedPair], switches: list[LinkedPair], expected: dict[str, str]
) -> None:
    assert find_gpu_islands(ALL, nvlinks, switches) == expected
