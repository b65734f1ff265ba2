"""Looks at running jobs of sweeps that stop on trouble, and stops what is left of a sweep in trouble."""

import structlog

from cluster.services import storage, sweep_stops
from cluster.services.context import Cluster
from cluster.services.leases import Held
from worker.inside import shim_files

log = structlog.get_logger()


def watch_sweeps(cluster: Cluster, held: Held) -> int:
    """How many jobs were stopped. Raises LeaseLost.

    A loss that is no number stands in what the job's shim says of it every two seconds; a crash was noted
    when the end was recorded.
    """
    for watched in sweep_stops.list_watched(cluster):
        folder = storage.attempt_folder(
            cluster.settings, watched.workspace_id, watched.job_id, watched.attempt
        )
        usage = shim_files.read_object(str(folder / "control"), "usage.json") or {}
        if usage.get("not_finite"):
            log.info("a loss is lost", job=watched.job_id)
            sweep_stops.note_lost_loss(cluster, held, watched.job_id)
    return sweep_stops.finish_stops(cluster, held)
