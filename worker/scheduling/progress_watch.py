"""Reads the progress that the shims of running jobs write every two seconds, and stores it when it has changed."""

from cluster.domain.jobs.progress import estimate_progress, parse_progress_report
from cluster.domain.states import AttemptState
from cluster.services.context import Cluster
from cluster.services.jobs import live_attempts
from cluster.services.jobs.progress import record_progress
from cluster.services.leases import HeldLease
from cluster.services.storage import folders
from worker.inside import shim_files


def watch_progress(cluster: Cluster, held: HeldLease) -> int:
    """How many rows were written. Raises LeaseLost."""
    found, now = {}, cluster.clock()
    for attempt in live_attempts.list_live_attempts(cluster):
        if attempt.state is not AttemptState.RUNNING:
            continue
        folder = folders.attempt_folder(
            cluster.settings, attempt.workspace_id, attempt.job_id, attempt.number
        )
        usage = shim_files.read_untrusted_json(str(folder / "control"), "usage.json") or {}
        course = parse_progress_report(usage.get("course"))
        if course is not None:
            found[attempt.attempt_id] = estimate_progress(course, now)
    return record_progress(cluster, held, found) if found else 0
