"""The host that all have shared is taken off in the end, while a repair is at work on it."""

from pathlib import Path

import pytest

from tests.hosts.appliance.installer.ansible_runs import play_there
from tests.hosts.appliance.repair_scenarios import Break, Mender
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender

pytestmark = pytest.mark.long

HOLD_THE_CACHE = (
    "systemd-run --unit another-build flock /var/cache/groundcrew-services/.training.lock sleep infinity"
)
"""A build waits for the end of another one, for ever."""
OPEN_A_CONSOLE = "systemd-run --unit open-console sh -c 'sleep infinity | groundcrew-console'"
"""Somebody has left it open."""
CONSOLE = "pgrep --uid groundcrew-watch --full 'worker console'"
AT_WORK = "grep -lsz '^SUDO_USER=groundcrew-repair$' /proc/[0-9]*/environ"
REPAIR = Break("restore-training-environment", "", "true")


def test_a_repair_at_work_ends_with_the_installation(mender: Mender, ansible_programs: Path) -> None:
    host = mender.host
    host.ask(HOLD_THE_CACHE)
    host.ask(OPEN_A_CONSOLE)
    try:
        host.wait_until(CONSOLE)
        host.ask("rm -rf /var/cache/groundcrew-services/training-*")
        mender.ask(REPAIR, [], is_dry_run=False)
        host.wait_until(f"grep -sz worker.environments $({AT_WORK} | sed s/environ/cmdline/)", 120)
        taken_off = play_there(
            host, ansible_programs, "ansible/playbooks/uninstall.yml", "-e", "uninstall_data=delete"
        )
        taken_off.must_succeed()
    finally:
        host.ask("systemctl stop another-build open-console")
    assert host.run(f"{AT_WORK}; pgrep -f '[a]nsible-playbook'").stdout == ""
    assert host.run("systemctl list-units --all --plain --no-legend 'groundcrew-*'").stdout == ""
    assert host.run(f"id groundcrew-watch; {CONSOLE}").stdout.count("no such user") == 1
    for path in ("/var/lib/groundcrew", "/opt/groundcrew", "/etc/groundcrew"):
        assert host.run(f"test -e {path}").returncode != 0, host.run(f"find {path}").stdout
