"""What an attempt over several nodes has used, as its ranks told it: its shim may be gone before the last of them."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cluster.domain.exits import MOST_RANKS, ExitTruth
from worker.inside import shim_files, shim_told


def with_told_use(folder: Path, truth: ExitTruth | None) -> ExitTruth | None:
    """`truth` itself where no rank told anything. Called once nothing of the attempt runs any more.

    All of it was in the hands of the job's own program: what makes no sense is passed over.
    """
    plan = shim_files.read_object(str(folder / "control"), "plan.json") or {}
    ranks, units = read_count(plan, "ranks"), read_count(plan, "units")
    told = shim_told.add_up(partial(shim_files.read_object, str(folder / "out")), ranks)
    if told is None:
        return truth
    truth = truth or ExitTruth()
    used = truth.unit_seconds_used if plan.get("gpus") else on_slots(truth, units, told["cpu_seconds"])
    return replace(
        truth,
        cpu_seconds=round(told["cpu_seconds"], 2),
        max_rss_bytes=told["max_rss_bytes"],
        average_rss_bytes=min(told["average_rss_bytes"], told["max_rss_bytes"]),
        unit_seconds_used=used,
    )


def read_count(plan: dict[str, Any], name: str) -> int:
    """0 where it is no number that a plan has."""
    count = plan.get(name)
    return count if isinstance(count, int) and 0 < count <= MOST_RANKS else 0


def on_slots(truth: ExitTruth, units: int, cpu_seconds: float) -> float:
    """Slots may lend what others leave: no more than the attempt's own time on its units."""
    if not (truth.started_at and truth.ended_at and units):
        return round(cpu_seconds, 2)
    own = (truth.ended_at - truth.started_at).total_seconds() * units
    return round(max(0.0, min(cpu_seconds, own)), 2)
