"""What an attempt over several nodes has used, as its ranks told it: its shim may be gone before the last of them."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from cluster.domain.exits import MOST_RANKS, ExitTruth
from worker.inside import shim_files, shim_told


def with_told_use(folder: Path, truth: ExitTruth | None) -> ExitTruth | None:
    """`truth` itself where no rank told anything. Called once nothing of the attempt runs any more."""
    plan = shim_files.read_object(str(folder / "control"), "plan.json") or {}
    ranks = plan.get("ranks")
    if not isinstance(ranks, int) or not 0 < ranks <= MOST_RANKS:
        return truth
    told = shim_told.add_up(partial(shim_files.read_object, str(folder / "out")), ranks)
    if told is None:
        return truth
    truth = truth or ExitTruth()
    return replace(
        truth,
        cpu_seconds=round(told["cpu_seconds"], 2),
        max_rss_bytes=told["max_rss_bytes"],
        average_rss_bytes=min(told["average_rss_bytes"], told["max_rss_bytes"]),
        unit_seconds_used=truth.unit_seconds_used
        if plan.get("gpus")
        else on_slots(plan, truth, told["cpu_seconds"]),
    )


def on_slots(plan: dict[str, Any], truth: ExitTruth, cpu_seconds: float) -> float:
    """Slots may lend what others leave: no more than the attempt's own time on its units."""
    if not (truth.started_at and truth.ended_at):
        return round(cpu_seconds, 2)
    own = (truth.ended_at - truth.started_at) * int(plan.get("units") or 1)
    return round(max(0.0, min(timedelta(seconds=cpu_seconds), own).total_seconds()), 2)
