"""The simulated cluster: time that stands still, nodes that fail, and runs that another process finds again."""

from dataclasses import replace
from pathlib import Path

import pytest

from worker.executors.simulated_cluster import SimulatedCluster
from worker.executors.simulated_run import Behaviour, SimulatedRun


@pytest.fixture
def world(tmp_path: Path) -> SimulatedCluster:
    world = SimulatedCluster(tmp_path / "world")
    world.advance_clock(0.0)
    return world


def a_run(world: SimulatedCluster, *nodes: str, job: int = 7) -> SimulatedRun:
    folder = world.folder / str(job)
    (folder / "control").mkdir(parents=True)
    run = SimulatedRun(
        job, 1, str(folder), nodes, dict.fromkeys(nodes, "b"), 1, Behaviour(), world.now(), alive=nodes
    )
    with world.lock():
        world.write_run(run)
    return run


def keys(world: SimulatedCluster) -> list[str]:
    with world.lock():
        return [run.key for run in world.runs()]


def test_from_its_first_move_on_time_stands_still(world: SimulatedCluster) -> None:
    before = world.now()
    assert world.now() == before
    world.advance_clock(12.5)
    assert SimulatedCluster(world.folder).now() == before + 12.5


def test_a_node_that_is_off_or_cut_off_does_not_answer(world: SimulatedCluster) -> None:
    for name in ("a", "b", "c"):
        world.add_node(name)
    world.power_off("a")
    world.cut_network("b")
    assert [node.name for node in world.list_answering()] == ["c"]
    world.power_on("a")
    world.restore_network("b")
    assert {node.name for node in world.list_answering()} == {"a", "b", "c"}


def test_only_a_boot_changes_the_boot_of_a_node(world: SimulatedCluster) -> None:
    first = world.add_node("a")
    world.cut_network("a")
    world.restore_network("a")
    world.start_slowly("a", 30.0)
    assert world.nodes()["a"] == replace(first, start_seconds=30.0)
    assert world.add_node("a").boot == first.boot
    world.reboot("a")
    assert world.nodes()["a"].boot != first.boot


def test_what_runs_on_a_node_without_power_is_gone_and_the_rest_of_a_gang_stays(
    world: SimulatedCluster,
) -> None:
    a_run(world, "a", job=7)
    a_run(world, "a", "b", job=8)
    a_run(world, "b", job=9)
    world.power_off("a")
    with world.lock():
        alive = {run.job: run.alive for run in world.runs()}
    assert alive == {8: ("b",), 9: ("b",)}


def test_a_run_is_read_as_it_is_now_and_is_over_in_time(world: SimulatedCluster) -> None:
    a_run(world, "a")
    assert keys(world) == ["7-1"]
    again = SimulatedCluster(world.folder)
    with again.lock():
        found = again.read_run("7-1")
    assert found is not None and found.began_at == world.now()
    world.advance_clock(Behaviour().seconds)
    assert keys(world) == []


def test_a_lost_shim_leaves_no_run(world: SimulatedCluster) -> None:
    a_run(world, "a")
    world.lose_shim(7, 1)
    assert keys(world) == []
    assert not (world.folder / "7" / "control" / "exit.json").exists()


def test_a_job_behaves_as_it_was_told_and_others_as_all(world: SimulatedCluster) -> None:
    assert world.behaviour_of(7) == Behaviour()
    world.set_behaviour(Behaviour(seconds=5.0))
    world.set_behaviour(Behaviour(exit_code=3), job=7)
    assert (world.behaviour_of(7).exit_code, world.behaviour_of(8).seconds) == (3, 5.0)
