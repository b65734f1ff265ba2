"""The newest checks of GPUs are read from the runs of their repairs."""

from datetime import UTC, datetime

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.nodes import gpu_checks
from cluster.store.repairs import RepairRun

SAID = "2 GPUs are on the PCI bus and nvidia-smi shows 1: no more.\n    remedy: Reseat it.\n    dmesg"


def test_of_a_check_of_several_nodes_each_has_its_own_answer() -> None:
    run = RepairRun(
        id=7,
        name="verify-gpus",
        host="w1, w2",
        targets=[["node-2", "w1"], ["node-3", "w2"], ["node-9", "gone"]],
        tasks=[{"name": "Assert", "output": {"w1": SAID}}],
        verdict=RepairVerdict.NOT_VERIFIED,
        ended_at=datetime(2026, 11, 24, tzinfo=UTC),
    )
    found = gpu_checks.newest_checks([run], {"w1": 2, "w2": 3})
    assert [(check.node, check.is_ok) for check in found] == [("w1", False), ("w2", True)]
    assert found[0].lines == tuple(line.strip() for line in SAID.splitlines())
