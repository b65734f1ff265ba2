"""For each role one run that is killed at a random task of it: the next one goes on, and one more changes nothing.

The tasks follow from a seed that is printed; GROUNDCREW_SEED repeats them.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.appliance.conftest import ROOT, note, play_there
from tests.hosts.appliance.found import differences, found
from tests.hosts.appliance.killing import list_tasks, play_killed
from tests.hosts.appliance.testbed import Host, Testbed

pytestmark = pytest.mark.long

SEED = os.environ.get("GROUNDCREW_SEED") or str(random.randrange(10**6))
ROLES = (
    "base",
    "release",
    "container_engine",
    "postgresql",
    "redis",
    "storage",
    "portal",
    "stream",
    "scheduler",
    "task_workers",
    "repairs",
    "nginx",
    "training_environment",
    "agent",
    "closing",
)
"""Those that do something on a host without the hardware for drivers."""
UNINSTALL = "ansible/playbooks/uninstall.yml"


@pytest.fixture(scope="module")
def host(bed: Testbed, ansible_programs: Path) -> Iterator[Host]:
    note(f"killed runs: GROUNDCREW_SEED={SEED}")
    (host,) = bed.add("one", lent=(ROOT, ansible_programs.parent))
    yield host


@pytest.mark.parametrize("role", ROLES)
def test_a_run_that_was_killed_in_a_role_is_finished_by_the_next(
    host: Host, ansible_programs: Path, role: str
) -> None:
    host.ask("apt-get -qq update")
    before = found(host)
    names = list_tasks(host, ansible_programs)
    own = [name for name in names if name.startswith(f"{role} : ")]
    play_killed(host, ansible_programs, random.Random(f"{SEED} {role}").choice(own))
    play_there(host, ansible_programs, "site.yml").must_succeed()
    third = play_there(host, ansible_programs, "site.yml").must_succeed()
    assert set(third.changed.values()) == {0}, third.changed_tasks()
    play_there(host, ansible_programs, UNINSTALL, "-e", "uninstall_data=delete").must_succeed()
    assert differences(before, found(host)) == {}
