"""A run adds up what lies on its nodes and names its runtime's volumes as Kubernetes accepts them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.kubernetes.manifests.test_workloads import RUN
from worker.kubernetes.manifests.run_spec import GangNode, RuntimeFolder


@pytest.mark.parametrize(
    ("members", "units", "is_even"),
    [((2,), 2, True), ((2, 2), 4, True), ((2, 1), 3, False)],
)
def test_a_gang_is_even_when_each_node_has_as_many_units(
    members: tuple[int, ...], units: int, is_even: bool
) -> None:
    nodes = tuple(GangNode(f"gpu{number}", each) for number, each in enumerate(members))
    run = replace(RUN, members=nodes)
    assert (run.units, run.is_even) == (units, is_even)
    assert run.nodes == tuple(each.node for each in nodes)


@pytest.mark.parametrize(
    ("path", "volume"),
    [
        (".", "runtime"),
        ("groundcrew_models", "runtime-groundcrew-models"),
        ("a/b_c", "runtime-a-b-c"),
    ],
)
def test_a_folder_of_the_runtime_has_a_volume_and_a_config_map(path: str, volume: str) -> None:
    folder = RuntimeFolder(Path(path), "0123")
    assert (folder.volume, folder.config_map) == (volume, f"gc-{volume}-0123")
