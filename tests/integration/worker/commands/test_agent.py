"""The agent's heartbeat, from this very machine into the rows."""

import json

import pytest
from sqlalchemy import select

from cluster.domain.states import UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.store.nodes import Node, Unit
from worker.adapters.nvml import Gpu, GpuInventory
from worker.commands import agent

TWO = GpuInventory((Gpu("GPU-a", 0, "H200", 141 * 1024**3), Gpu("GPU-b", 1, "H200", 141 * 1024**3)), "580.1")


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (GpuInventory(), [("cpu-0", UnitKind.CPU_SLOT), ("cpu-1", UnitKind.CPU_SLOT)]),
        (TWO, [("GPU-a", UnitKind.GPU), ("GPU-b", UnitKind.GPU)]),
        (GpuInventory(is_hardware_there=True, problem="Driver/library version mismatch"), []),
    ],
)
def test_units_are_gpus_or_slots_and_never_pretend(
    gpus: GpuInventory, expected: list[tuple[str, UnitKind]]
) -> None:
    assert [(unit.identity, unit.kind) for unit in agent.units_of_node(gpus, 2)] == expected


def test_a_gpu_that_does_not_answer_is_broken() -> None:
    (unit,) = agent.units_of_node(GpuInventory((Gpu("GPU-a", 0, "", None, is_broken=True),)), 2)
    assert unit.state is UnitState.BROKEN


def units_of(cluster: Cluster) -> dict[str, str]:
    with cluster.store.read() as session:
        return {unit.identity: unit.state.value for unit in session.scalars(select(Unit))}


def test_a_heartbeat_tells_this_machine(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "read_gpus", lambda: TWO)
    agent.record_own_heartbeat(light_cluster)
    with light_cluster.store.read() as session:
        (node,) = session.scalars(select(Node)).all()
    assert node.heartbeat_at == light_cluster.clock()
    assert node.facts["cpus"] >= 1 and node.facts["memory_bytes"] > 0 and node.facts["driver"] == "580.1"
    for interface in node.facts["interfaces"]:
        assert {"name", "addresses", "speed_mbps", "is_up", "kind"} <= set(interface)
    measured = json.loads((light_cluster.settings.state_dir / "telemetry" / f"{node.name}.json").read_text())
    assert len(measured["gpus"]) == 2
    assert set(node.facts["gpu_load"]) == {"GPU-a", "GPU-b"}
    assert units_of(light_cluster) == {"GPU-a": "ok", "GPU-b": "ok"}


def test_a_gpu_that_vanishes_is_gone_and_comes_back(
    light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for gpus, expected in ((TWO, "ok"), (GpuInventory(TWO.gpus[:1]), "gone"), (TWO, "ok")):
        monkeypatch.setattr(agent, "read_gpus", lambda gpus=gpus: gpus)
        agent.record_own_heartbeat(light_cluster)
        assert units_of(light_cluster)["GPU-b"] == expected
