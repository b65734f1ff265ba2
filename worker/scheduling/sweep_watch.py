"""Reads the usage files of running jobs whose sweep stops on trouble, and stops the rest of a sweep in trouble."""

import structlog

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.storage import folders
from cluster.services.sweeps import stops
from worker.inside import shim_files

log = structlog.get_logger()


def watch_sweeps(cluster: Cluster, held: HeldLease) -> int:
    """How many jobs were stopped. Raises LeaseLost.

    A loss that is no number stands in what the job's shim says of it every two seconds; a crash was noted
    when the end was recorded.
    """
    for watched in stops.list_loss_watches(cluster):
        folder = folders.attempt_folder(
            cluster.settings, watched.workspace_id, watched.job_id, watched.attempt
        )
        usage = shim_files.read_untrusted_json(str(folder / "control"), "usage.json") or {}
        if usage.get("not_finite"):
            log.info("a loss is lost", job=watched.job_id)
            stops.record_nan_loss(cluster, held, watched.job_id)
    return stops.stop_marked_sweeps(cluster, held)
