"""Reads what shims and ranks write about usage: progress, headline metric and losses of running jobs, and the sum of
the ranks of an attempt on several nodes."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from cluster.domain.jobs.exits import MAX_RANKS, ExitRecord
from cluster.domain.jobs.headline_metric import parse_headline_metric
from cluster.domain.jobs.progress import estimate_progress, parse_progress_report
from cluster.domain.states import AttemptState
from cluster.services import objectives
from cluster.services.context import Cluster
from cluster.services.jobs import live_attempts, progress
from cluster.services.leases import HeldLease
from cluster.services.storage import folders
from cluster.services.sweeps import trouble_stops
from worker.inside import shim_files, shim_usage

log = structlog.get_logger()


def watch_progress(cluster: Cluster, held: HeldLease) -> int:
    """Stores the progress and the headline metrics that have changed; how many rows were written. Raises LeaseLost."""
    found, now = {}, cluster.clock()
    running = [
        attempt
        for attempt in live_attempts.list_live_attempts(cluster)
        if attempt.state is AttemptState.RUNNING
    ]
    wanted = objectives.read_objectives(cluster) if running else {}
    for attempt in running:
        folder = folders.attempt_folder(
            cluster.settings, attempt.workspace_id, attempt.job_id, attempt.number
        )
        usage = read_usage(folder)
        course = parse_progress_report(usage.get("course"))
        report = progress.AttemptReport(
            estimate_progress(course, now) if course is not None else None,
            parse_headline_metric(
                usage.get("results"), usage.get("objective"), wanted.get(attempt.attempt_id)
            ),
        )
        if report != progress.AttemptReport():
            found[attempt.attempt_id] = report
    return progress.record_reports(cluster, held, found) if found else 0


def watch_sweeps(cluster: Cluster, held: HeldLease) -> int:
    """Stops the rest of each sweep that stops on trouble and has some; how many jobs were stopped. Raises LeaseLost.

    A loss that is no number stands in the usage file; a crash was noted when the end was recorded.
    """
    for watched in trouble_stops.list_loss_watches(cluster):
        folder = folders.attempt_folder(
            cluster.settings, watched.workspace_id, watched.job_id, watched.attempt
        )
        if read_usage(folder).get("not_finite"):
            log.info("a loss is lost", job=watched.job_id)
            trouble_stops.record_nan_loss(cluster, held, watched.job_id)
    return trouble_stops.stop_marked_sweeps(cluster, held)


def read_usage(folder: Path) -> dict[str, Any]:
    """Empty before the first measurement, and where the program wrote something else there."""
    return shim_files.read_untrusted_json(str(folder / "control"), "usage.json") or {}


def with_rank_usage(folder: Path, truth: ExitRecord | None) -> ExitRecord | None:
    """Adds up what the ranks wrote, because the shim may end before the last one; without that `truth` itself.

    Called once nothing of the attempt runs any more.

    All of it was in the hands of the job's own program: what makes no sense is passed over.
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
    """Returns 0 if the value is no number that a plan has."""
    count = plan.get(name)
    return count if isinstance(count, int) and 0 < count <= MAX_RANKS else 0


def limit_to_slot_time(truth: ExitRecord, units: int, cpu_seconds: float) -> float:
    """Limits the time to that of the attempt's own slots, because slots may lend what others leave."""
    if not (truth.started_at and truth.ended_at and units):
        return round(cpu_seconds, 2)
    own = (truth.ended_at - truth.started_at).total_seconds() * units
    return round(max(0.0, min(cpu_seconds, own)), 2)
