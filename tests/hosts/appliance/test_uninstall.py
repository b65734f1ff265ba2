"""The host that all have shared is taken off in the end, while a job runs and a repair is at work on it."""

from pathlib import Path

from tests.hosts.appliance.installer.ansible_runs import play_there
from tests.hosts.appliance.repair_scenarios import Break, Mender
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender
from tests.hosts.appliance.test_ssh_door import BRING, PLAY, TREE
from tests.hosts.machines.testbed import Host

HOLD_THE_CACHE = (
    "systemd-run --unit another-build flock /var/cache/groundcrew-services/.training.lock sleep infinity"
)
"""A build waits for the end of another one, for ever."""
OPEN_A_CONSOLE = "systemd-run --unit open-console sh -c 'sleep infinity | groundcrew-console'"
"""Somebody has left it open."""
CONSOLE = "pgrep --uid groundcrew-watch --full 'worker console'"
AT_WORK = "grep -lsz '^SUDO_USER=groundcrew-repair$' /proc/[0-9]*/environ"
REPAIR = Break("restore-training-environment", "", "true")
A_NOTEBOOK_HAS_RUN = "install -d -m 711 /var/lib/groundcrew/notebooks"
OF_JOBS = "pgrep --full '[t]rain.py'"


def start_a_job(host: Host) -> None:
    host.ask(f"{BRING}; ssh-keygen -q -t ed25519 -N '' -f {TREE}/key")
    number = host.ask(f"{PLAY} submit {TREE}/key.pub").splitlines()[-1]
    host.wait_until(f"systemctl is-active gc-{number}-1.service && {OF_JOBS}", 300)


def test_a_job_and_a_repair_at_work_end_with_the_installation(mender: Mender, ansible_programs: Path) -> None:
    host = mender.host
    start_a_job(host)
    host.ask(A_NOTEBOOK_HAS_RUN)
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
    assert host.run(f"{AT_WORK}; pgrep -f '[a]nsible-playbook'; {OF_JOBS}").stdout == ""
    assert host.run("systemctl list-units --all --plain --no-legend 'groundcrew-*' 'gc-*'").stdout == ""
    assert host.run(f"id groundcrew-watch; {CONSOLE}").stdout.count("no such user") == 1
    for path in ("/var/lib/groundcrew", "/var/lib/groundcrew-ssh", "/opt/groundcrew", "/etc/groundcrew"):
        assert host.run(f"test -e {path}").returncode != 0, host.run(f"find {path}").stdout
    left = host.ask("find /var/cache/groundcrew-services -mindepth 1 -maxdepth 1 ! -name 'wheels-*'")
    assert left == "", "of the cache only the wheels stay that the host was lent"
