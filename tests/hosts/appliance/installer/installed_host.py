"""A host that installs itself, killed three times on its way: whoever needs an installed host shares this one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.appliance.installer.ansible_runs import CACHE, ROOT, Played, play_there
from tests.hosts.appliance.installer.killed_runs import play_killed
from tests.hosts.machines.host_image import docker
from tests.hosts.machines.testbed import Host, testbed

KILLED_IN = (
    "base : Let the host know itself and the master by name",
    "portal : Write the units, and the commands that ask the application",
    "agent : Write the unit",
)
"""In CI the first run is killed after each of these in turn: handlers that were notified are lost with it."""
SHARED_BY = (
    "test_one_host",
    "test_repairs",
    "test_two_administrators",
    "test_application_repairs",
    "test_environments_of_servers",
    "test_ssh_door",
    "test_console_of_servers",
    "test_copies_elsewhere",
    "test_restored_host",
    "test_taken_over_services",
    "test_uninstall",
)
"""One worker plays them, in this order: the first administrator is still to come in the first one, and the last one
leaves nothing."""


@pytest.fixture(scope="session")
def own_host(image: str, ansible_programs: Path) -> Iterator[Host]:
    """GROUNDCREW_INSTALLED_HOST names one that is there already."""
    known = os.environ.get("GROUNDCREW_INSTALLED_HOST")
    if known:
        address = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        yield Host(known, docker("inspect", "-f", address, known).stdout.strip())
        return
    with testbed("gc-hosts-one-host", image, CACHE) as bed:
        (host,) = bed.add("one", lent=(ROOT, ansible_programs.parent))
        yield host


@pytest.fixture(scope="session")
def self_installed(own_host: Host, ansible_programs: Path) -> Played:
    """The run that ends well, after three that were killed; empty where the host was there already."""
    if "GROUNDCREW_INSTALLED_HOST" in os.environ:
        return Played(0, "", 0.0)
    for task in KILLED_IN:
        play_killed(own_host, ansible_programs, task)
    return play_there(own_host, ansible_programs, "site.yml").must_succeed()


def network_of(host: Host) -> str:
    names = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}"
    return docker("inspect", "-f", names, host.name).stdout.strip()
