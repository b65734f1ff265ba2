"""The lease of the scheduler. There is one holder at a time, and a dead holder on this machine is replaced at once."""

import os

from cluster.services.context import Cluster
from cluster.services.leases import (
    SCHEDULER_LEASE,
    SCHEDULER_LEASE_DURATION,
    HeldLease,
    acquire_lease,
    renew_lease,
)
from worker.inside.shim_process_tree import read_boot_id, read_process


def acquire_scheduler_lease(cluster: Cluster, holder: str, held: HeldLease | None = None) -> HeldLease | None:
    """Acquires the lease, or renews the one that is `held`. None while another scheduler has it."""
    if held is not None and renew_lease(cluster, held, SCHEDULER_LEASE_DURATION):
        return held
    return acquire_lease(cluster, SCHEDULER_LEASE, holder, SCHEDULER_LEASE_DURATION, is_dead_holder)


def lease_holder_name() -> str:
    process = read_process(os.getpid())
    return f"{read_boot_id()}:{os.getpid()}:{process.start_ticks if process else 0}"


def is_dead_holder(holder: str) -> bool:
    """Whether the holder was a process of this machine and this boot that is dead. For any other holder the lease's
    time decides.
    """
    boot_id, _, rest = holder.partition(":")
    pid, _, ticks = rest.partition(":")
    if boot_id != read_boot_id() or not pid.isdigit():
        return False
    process = read_process(int(pid))
    return process is None or process.is_gone() or str(process.start_ticks) != ticks
