"""For each role one run that is killed at a random task of it: the next one goes on, until nothing is left to change.

The tasks follow from a seed that is printed; GROUNDCREW_SEED repeats them.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.appliance.installer.ansible_runs import ROOT, note, play_there
from tests.hosts.appliance.installer.killed_runs import list_tasks, play_killed
from tests.hosts.machines.host_snapshot import differences, found
from tests.hosts.machines.testbed import Host, Testbed

pytestmark = pytest.mark.long

SEED = os.environ.get("GROUNDCREW_SEED") or str(random.randrange(10**6))
ROLES = (
    "base",
    "release",
    "storage",
    "container_engine",
    "postgresql",
    "redis",
    "portal",
    "stream",
    "scheduler",
    "ssh_door",
    "task_workers",
    "repairs",
    "nginx",
    "training_environment",
    "agent",
    "closing",
)
"""In the order of a run: those that do something on a host without the hardware for drivers."""
UNINSTALL = "ansible/playbooks/uninstall.yml"


@pytest.fixture(scope="module")
def host(bed: Testbed, ansible_programs: Path) -> Iterator[Host]:
    note(f"killed runs: GROUNDCREW_SEED={SEED}")
    (host,) = bed.add("one", lent=(ROOT, ansible_programs.parent))
    yield host


def test_runs_killed_in_each_role_in_turn_converge_and_leave_the_host_as_it_was_found(
    host: Host, ansible_programs: Path
) -> None:
    host.ask("apt-get -qq update")
    before = found(host)
    names, chance = list_tasks(host, ansible_programs), random.Random(SEED)
    for role in ROLES:
        # Each goes on where the one before was killed, and dies in the next role, which the host does not have yet.
        play_killed(
            host, ansible_programs, chance.choice([name for name in names if name.startswith(f"{role} : ")])
        )
    play_there(host, ansible_programs, "site.yml").must_succeed()
    last = play_there(host, ansible_programs, "site.yml").must_succeed()
    assert set(last.changed.values()) == {0}, last.changed_tasks()
    play_there(host, ansible_programs, UNINSTALL, "-e", "uninstall_data=delete").must_succeed()
    assert differences(before, found(host)) == {}
