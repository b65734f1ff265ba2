"""Whose lease may be taken over at once: that of a dead process of this machine and this boot alone."""

import os
import subprocess
import sys

import pytest

from cluster.services.context import Cluster
from worker.inside.shim_process_tree import read_boot_id
from worker.scheduling.scheduler_lease import acquire_scheduler_lease, is_dead_holder, lease_holder_name

OWN_TICKS = lease_holder_name().rpartition(":")[2]


def ended_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("holder", "is_dead"),
    [
        (lease_holder_name(), False),
        (f"{read_boot_id()}:{os.getpid()}:{int(OWN_TICKS) - 1}", True),  # Its number is another's now.
        (f"{read_boot_id()}:{ended_pid()}:1", True),
        (f"another-boot:{ended_pid()}:1", False),  # Another machine's, or this one's before it started anew.
        (f"{read_boot_id()}:not-a-number:1", False),
        ("", False),
    ],
    ids=["this process", "its number is another's", "ended", "another boot", "no number", "nobody"],
)
def test_only_a_dead_process_of_this_boot_is_a_dead_holder(holder: str, is_dead: bool) -> None:
    assert is_dead_holder(holder) is is_dead


def test_the_lease_of_a_dead_scheduler_is_taken_over_at_once_and_that_of_a_live_one_is_not(
    light_cluster: Cluster,
) -> None:
    dead = acquire_scheduler_lease(light_cluster, f"{read_boot_id()}:{ended_pid()}:1")
    held = acquire_scheduler_lease(light_cluster, lease_holder_name())
    assert dead is not None and held is not None and held.fence > dead.fence
    assert acquire_scheduler_lease(light_cluster, "another") is None
