"""Reads what shims write about running jobs: progress, headline metric and losses."""

from pathlib import Path
from typing import Any

import structlog

from cluster.domain.jobs.headline_metric import parse_headline_metric
from cluster.domain.jobs.progress import estimate_progress, parse_progress_report
from cluster.domain.states import AttemptState
from cluster.services import objectives
from cluster.services.context import Cluster
from cluster.services.jobs import live_attempts, progress
from cluster.services.leases import HeldLease
from cluster.services.storage import folders
from cluster.services.sweeps import trouble_stops
from worker.inside import shim_files

log = structlog.get_logger()


def watch_progress(cluster: Cluster, held: HeldLease) -> int:
    """Stores the progress and the headline metrics that have changed. Returns the number of written rows. Raises
    LeaseLost.
    """
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
    """Stops the other jobs of each sweep that stops at the first failure or NaN and has one. Returns the number of
    stopped jobs. Raises LeaseLost. The usage file has a loss that is no number; a failure was noted when the end was
    recorded.
    """
    for watched in trouble_stops.list_loss_watches(cluster):
        folder = folders.attempt_folder(
            cluster.settings, watched.workspace_id, watched.job_id, watched.attempt
        )
        if read_usage(folder).get("not_finite"):
            log.info("a loss is no number", job=watched.job_id)
            trouble_stops.record_nan_loss(cluster, held, watched.job_id)
    return trouble_stops.stop_marked_sweeps(cluster, held)


def read_usage(folder: Path) -> dict[str, Any]:
    """The shim's usage file; empty before the first measurement, and if the program wrote something else there."""
    return shim_files.read_untrusted_json(str(folder / "control"), "usage.json") or {}
