"""What a start plan is made of, read for many attempts at once."""

from dataclasses import replace

import pytest

from cluster.domain.executors import ExecutorKind
from cluster.domain.states import UnitKind
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt
from tests.builders import a_job, a_node, a_training, a_workspace, holding
from worker.scheduling.starts.start_rows import (
    allocated_gpus,
    allocated_kind,
    node_names,
    read_start_rows,
    units_by_node,
)


def a_gang(cluster: Cluster, kind: UnitKind = UnitKind.GPU) -> Attempt:
    """Two units of `b`, where the launcher is, and one of `a`."""
    nodes = {name: a_node(cluster, units=2, kind=kind, name=name) for name in ("a", "b")}
    job = a_job(cluster, a_training(cluster, a_workspace(cluster, units=4)), units=3)
    return holding(cluster, job, [*nodes["b"].units, nodes["a"].units[0]])


def test_a_gang_has_its_nodes_once_each_and_the_launchers_first(cluster: Cluster) -> None:
    attempt = a_gang(cluster)
    (read,) = read_start_rows(cluster, [attempt.id]).attempts.values()
    assert node_names(read) == ("b", "a")
    assert units_by_node(read) == (("b", 2), ("a", 1))
    assert allocated_kind(read) is UnitKind.GPU
    assert len(allocated_gpus(read)) == 3


def test_slots_are_no_gpus(cluster: Cluster) -> None:
    attempt = a_gang(cluster, UnitKind.CPU_SLOT)
    (read,) = read_start_rows(cluster, [attempt.id]).attempts.values()
    assert (allocated_kind(read), allocated_gpus(read)) == (UnitKind.CPU_SLOT, ())


@pytest.mark.parametrize(
    ("executor", "image"),
    [
        (ExecutorKind.DOCKER, "docker:1"),
        (ExecutorKind.KUBERNETES, "kubernetes:1"),
    ],
)
def test_containers_are_made_from_the_image_of_their_executor(
    cluster: Cluster, executor: ExecutorKind, image: str
) -> None:
    images = {"docker_image": "docker:1", "kubernetes_image": "kubernetes:1"}
    settings = replace(cluster.settings, executor=executor, **images)
    rows = read_start_rows(replace(cluster, settings=settings), [])
    assert rows.images == dict.fromkeys(UnitKind, image) and rows.attempts == {}


def test_without_a_setting_and_a_built_image_there_is_none(cluster: Cluster) -> None:
    settings = replace(cluster.settings, executor=ExecutorKind.KUBERNETES)
    rows = read_start_rows(replace(cluster, settings=settings), [])
    assert set(rows.images.values()) == {""}
