"""Reads the usage files that the shims of running jobs write every two seconds: their progress, and losses that are no
number."""

from pathlib import Path
from typing import Any

import structlog

from cluster.domain.jobs.progress import estimate_progress, parse_progress_report
from cluster.domain.states import AttemptState
from cluster.services.context import Cluster
from cluster.services.jobs import live_attempts
from cluster.services.jobs.progress import record_progress
from cluster.services.leases import HeldLease
from cluster.services.storage import folders
from cluster.services.sweeps import stops
from worker.inside import shim_files

log = structlog.get_logger()


def watch_progress(cluster: Cluster, held: HeldLease) -> int:
    """Stores the progress that has changed; how many rows were written. Raises LeaseLost."""
    found, now = {}, cluster.clock()
    for attempt in live_attempts.list_live_attempts(cluster):
        if attempt.state is not AttemptState.RUNNING:
            continue
        folder = folders.attempt_folder(
            cluster.settings, attempt.workspace_id, attempt.job_id, attempt.number
        )
        report = parse_progress_report(read_usage(folder).get("course"))
        if report is not None:
            found[attempt.attempt_id] = estimate_progress(report, now)
    return record_progress(cluster, held, found) if found else 0


def watch_sweeps(cluster: Cluster, held: HeldLease) -> int:
    """Stops the rest of each sweep that stops on trouble and has some; how many jobs were stopped. Raises LeaseLost.

    A loss that is no number stands in the usage file; a crash was noted when the end was recorded.
    """
    for watched in stops.list_loss_watches(cluster):
        folder = folders.attempt_folder(
            cluster.settings, watched.workspace_id, watched.job_id, watched.attempt
        )
        if read_usage(folder).get("not_finite"):
            log.info("a loss is lost", job=watched.job_id)
            stops.record_nan_loss(cluster, held, watched.job_id)
    return stops.stop_marked_sweeps(cluster, held)


def read_usage(folder: Path) -> dict[str, Any]:
    """Empty before the first measurement, and where the program wrote something else there."""
    return shim_files.read_untrusted_json(str(folder / "control"), "usage.json") or {}
