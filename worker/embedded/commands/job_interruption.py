"""Interrupts the jobs of this machine before its services end, and removes the rules that closed addresses to them."""

import os

import psutil

from cluster.settings import Settings
from cluster.store.migrate import is_schema_current
from worker.adapters.job_runtime import install_runtime
from worker.bootstrap.terminal import print_error
from worker.composition import open_cluster
from worker.executors.factory import open_executor
from worker.inside import shim_cloud_metadata
from worker.scheduling.loop import interrupt_all


def interrupt_jobs(settings: Settings) -> None:
    """Ends every attempt within its patience, and its job waits again. The rows say so at once."""
    if not is_schema_current(settings):
        return
    runtime = install_runtime(settings.runtime_dir, settings.job_ids)
    cluster = open_cluster(settings)
    left = interrupt_all(cluster, open_executor(cluster, runtime), runtime)
    if left:
        print_error("{count} trainings did not end; make down again looks at them once more.", count=left)


def remove_routing_rules(settings: Settings) -> None:
    """Removes the closed addresses from this machine's routing, unless a job still runs under such a number."""
    first, last = settings.job_ids.uid_range
    if os.geteuid() == 0 and not any(first <= uid <= last for uid in list_process_uids()):
        shim_cloud_metadata.unblock_cloud_metadata(first, last)


def list_process_uids() -> set[int]:
    """The uids of this machine's processes."""
    return {process.info["uids"].real for process in psutil.process_iter(["uids"]) if process.info["uids"]}
