"""Sums up the usage that the ranks of an attempt on several nodes have written."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cluster.domain.jobs.exits import MAX_RANKS, ExitRecord
from worker.inside import shim_files, shim_usage


def with_rank_usage(folder: Path, truth: ExitRecord | None) -> ExitRecord | None:
    """Adds up what the ranks wrote, because the shim may end before the last one. Returns `truth` itself if they wrote
    nothing. It is called once nothing of the attempt runs any more. The job's program could have written all of it, so
    senseless values are ignored.
    """
    plan = shim_files.read_untrusted_json(str(folder / "control"), "plan.json") or {}
    ranks, units = parse_count(plan, "ranks"), parse_count(plan, "units")
    told = shim_usage.sum_rank_usage(partial(shim_files.read_untrusted_json, str(folder / "out")), ranks)
    if told is None:
        return truth
    truth = truth or ExitRecord()
    used = (
        truth.unit_seconds_used if plan.get("gpus") else limit_to_slot_time(truth, units, told["cpu_seconds"])
    )
    return replace(
        truth,
        cpu_seconds=round(told["cpu_seconds"], 2),
        max_rss_bytes=told["max_rss_bytes"],
        average_rss_bytes=min(told["average_rss_bytes"], told["max_rss_bytes"]),
        unit_seconds_used=used,
    )


def parse_count(plan: dict[str, Any], name: str) -> int:
    """Returns 0 if the value is no number that a plan can have."""
    count = plan.get(name)
    return count if isinstance(count, int) and 0 < count <= MAX_RANKS else 0


def limit_to_slot_time(truth: ExitRecord, units: int, cpu_seconds: float) -> float:
    """Limits the time to that of the attempt's own slots, because slots may lend what others leave."""
    if not (truth.started_at and truth.ended_at and units):
        return round(cpu_seconds, 2)
    own = (truth.ended_at - truth.started_at).total_seconds() * units
    return round(max(0.0, min(cpu_seconds, own)), 2)
