"""Jobs of a sweep are named by what sets them apart."""

from typing import Any

from cluster.domain.sweeps.job_names import sweep_job_names
from cluster.domain.sweeps.plan import (
    SweepKind,
    SweepPlan,
)


def grid(**values: Any) -> SweepPlan:
    return SweepPlan(SweepKind.GRID, {name: tuple(each) for name, each in values.items()})


def test_long_names_become_short_ones_and_then_numbers() -> None:
    plan = grid(
        learning_rate=(0.1, 0.05), hidden_units=(128,), weight_decay_of_all=(0.001, 0.01), momentum=(0.9, 0)
    )
    assert sweep_job_names("lenet", plan)[0] == "lenet-lr=0.1-wdoa=0.001-mom=0.9"
    assert sweep_job_names("x" * 60, plan)[1] == "x" * 20 + "-2-lr=0.1-wdoa=0.001-mom=0"
