"""Looks at how far running jobs are: their shims say so every two seconds, rows keep what is news."""

from cluster.domain.course import parse_course, progress_of
from cluster.domain.states import AttemptState
from cluster.services import attempts, storage
from cluster.services.context import Cluster
from cluster.services.leases import Held
from cluster.services.progress import note_progress
from worker.inside import shim_files


def watch_progress(cluster: Cluster, held: Held) -> int:
    """How many rows were written. Raises LeaseLost."""
    found, now = {}, cluster.clock()
    for attempt in attempts.list_living(cluster):
        if attempt.state is not AttemptState.RUNNING:
            continue
        folder = storage.attempt_folder(
            cluster.settings, attempt.workspace_id, attempt.job_id, attempt.number
        )
        usage = shim_files.read_object(str(folder / "control"), "usage.json") or {}
        course = parse_course(usage.get("course"))
        if course is not None:
            found[attempt.attempt_id] = progress_of(course, now)
    return note_progress(cluster, held, found) if found else 0
