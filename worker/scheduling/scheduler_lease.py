"""The lease of the scheduler: one at a time, and a dead one of this machine is followed at once."""

import os
from datetime import timedelta

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from worker.inside.shim_process_tree import read_boot_id, read_process

LEASE = "scheduler"
LEASE_DURATION = timedelta(seconds=10)


def acquire_scheduler_lease(cluster: Cluster, holder: str) -> HeldLease | None:
    """None while another scheduler has it."""
    return acquire_lease(cluster, LEASE, holder, LEASE_DURATION, is_dead_holder)


def lease_holder_name() -> str:
    process = read_process(os.getpid())
    return f"{read_boot_id()}:{os.getpid()}:{process.start_ticks if process else 0}"


def is_dead_holder(holder: str) -> bool:
    """Only said of a process of this machine and this boot: elsewhere the lease's time decides."""
    boot_id, _, rest = holder.partition(":")
    pid, _, ticks = rest.partition(":")
    if boot_id != read_boot_id() or not pid.isdigit():
        return False
    process = read_process(int(pid))
    return process is None or process.is_gone() or str(process.start_ticks) != ticks
