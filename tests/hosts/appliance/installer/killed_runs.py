"""Runs of site.yml that are killed after a task, as by a power cut of the machine that runs Ansible."""

import re
from pathlib import Path

from tests.hosts.appliance.installer.ansible_runs import ROOT, Played, play_there
from tests.hosts.machines.testbed import Host

CALLBACKS = ROOT / "tests" / "hosts" / "appliance" / "callbacks"


def list_tasks(host: Host, ansible_programs: Path) -> list[str]:
    """Names as `role : task`, in the order of a run."""
    listed = play_there(host, ansible_programs, "site.yml", "--list-tasks")
    return re.findall(r"^      (.+?)\tTAGS", listed.output, re.M)


def play_killed(host: Host, ansible_programs: Path, after: str) -> Played:
    """Handlers that were notified by then are lost with it."""
    killed = play_there(
        host,
        ansible_programs,
        "site.yml",
        ANSIBLE_CALLBACK_PLUGINS=str(CALLBACKS),
        ANSIBLE_CALLBACKS_ENABLED="killed_after",
        KILLED_AFTER=after,
    )
    assert killed.code in (-9, 137), f"not killed after {after}: {killed.output[-3000:]}"
    return killed
