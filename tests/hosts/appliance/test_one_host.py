"""A bare host installs itself, is killed while it does, and becomes the appliance: trained on, damaged, mended."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.hosts.appliance.conftest import UNITS_OF_THE_MASTER
from tests.hosts.appliance.installer.ansible_runs import Played, note, play_there
from tests.hosts.appliance.installer.first_sign_in import enter
from tests.hosts.machines.testbed import Host

MOST_EXPOSED = 2.0
"""On the scale of `systemd-analyze security`; what each unit still may do is listed in docs/install/cluster.md."""
AUTHORITY = "/etc/groundcrew/tls/authority.pem"


@pytest.fixture(scope="module")
def host(own_host: Host) -> Host:
    return own_host


@pytest.fixture(scope="module")
def installed(self_installed: Played) -> Played:
    """Every test of this module needs it."""
    return self_installed


@pytest.fixture(scope="module")
def url(host: Host) -> str:
    return f"https://{host.address}"


def test_the_run_ends_with_address_secret_version_ports_and_next_steps(installed: Played, url: str) -> None:
    for word in (
        f"running at {url}",
        f"{url}/first-administrator",
        "Versions: Groundcrew 0.",
        "Ports: 443",
        "Next: ",
    ):
        assert word in installed.output
    for word in ("postgresql-15 15.", "redis-server ", "containerd 1.6", "Host localhost: master"):
        assert word in installed.output
    assert re.search(r"One-time secret:\s+[0-9A-Z]{4}(-[0-9A-Z]{4}){3}", installed.output)


def test_after_three_killed_runs_and_one_that_ended_the_next_changes_nothing(
    installed: Played, host: Host, ansible_programs: Path
) -> None:
    second = play_there(host, ansible_programs, "site.yml").must_succeed()
    assert set(second.changed.values()) == {0}, second.changed_tasks()
    assert host.has_failed_units() == ""


def test_the_first_administrator_signs_in_with_a_browser(
    installed: Played, url: str, browser: Browser
) -> None:
    with browser.new_context(ignore_https_errors=True, locale="en-US") as context:
        page = context.new_page()
        enter(page, url, installed.output)
        page.goto(f"{url}/nodes")
        expect(page.locator("main")).to_contain_text("CPU slot", timeout=20_000)
        assert all(cookie["secure"] for cookie in context.cookies())


def test_a_training_is_a_transient_unit_while_every_service_restarts(installed: Played, host: Host) -> None:
    host.ask("systemd-run --unit training --setenv=LANG=C.UTF-8 groundcrew-appliance first-training")
    host.wait_until("systemctl is-active 'gc-*.service'", 240)
    for name in UNITS_OF_THE_MASTER:
        host.ask(f"systemctl restart groundcrew-{name}")
    host.ask("systemctl restart redis-server@groundcrew nginx")
    host.wait_until("journalctl -u training -o cat | grep -E '^Finished'", 300)
    assert "Finished: validation accuracy 9" in host.ask("journalctl -u training -o cat")
    host.wait_until("test -z \"$(systemctl list-units 'gc-*' --no-legend --plain)\"")
    uid = host.ask("stat -c %u /var/lib/groundcrew/storage/workspaces/1/jobs/1/1/out/metrics.jsonl")
    assert int(uid) > 100_000


ROOTS = {"scheduler": MOST_EXPOSED, "ssh": 4.2, "worker@backups": 2.6}
"""Units of root, and how exposed each may be. Backups speak as the owner of the tables and are copied elsewhere:
this one has the network, and changes to the services' user.
"""


def test_units_are_hardened_and_only_these_are_root(installed: Played, host: Host) -> None:
    for name in UNITS_OF_THE_MASTER:
        shown = host.run(f"systemd-analyze security --no-pager groundcrew-{name}.service").stdout
        level = re.search(r"exposure level for \S+: ([\d.]+)", shown)
        assert level is not None, shown
        note(f"systemd-analyze security groundcrew-{name}: {level[1]}")
        assert float(level[1]) <= ROOTS.get(name, MOST_EXPOSED), shown
        user = host.ask(f"systemctl show -P User groundcrew-{name}.service")
        assert (user in {"", "root"}) == (name in ROOTS), (name, user)


DAMAGE = {
    "base : Write the kernel's settings": "sed -i s/4096/10/ /etc/sysctl.d/60-groundcrew.conf",
    "base : Have the packages that every role needs": "dpkg --purge --force-depends acl openssl",
    "release : Make it the current version": "rm /opt/groundcrew/current",
    "container_engine : Have containerd and a safe runc": "dpkg --purge containerd",
    "container_engine : Write the configuration and let containerd read it": "rm /etc/containerd/groundcrew.toml",
    "container_engine : Keep it running": "systemctl disable --now containerd",
    "postgresql : Have PostgreSQL": "dpkg --purge --force-depends python3-psycopg2",
    "postgresql : Put our line before those of the distribution": (
        "sed -i /Groundcrew/d /etc/postgresql/15/main/pg_hba.conf"
    ),
    "redis : Write the configuration, and who may do what": "chmod 644 /etc/redis/groundcrew.acl",
    "redis : Keep it running": "systemctl disable --now redis-server@groundcrew",
    # The scheduler would mend it by itself within a minute; a later task starts that again.
    "storage : Make the folder of the workspaces": (
        "systemctl stop groundcrew-scheduler; chmod 700 /var/lib/groundcrew/storage/workspaces"
    ),
    "portal : Write the settings, those that all services share and those that each knows alone": (
        "rm /etc/groundcrew/portal.env"
    ),
    "portal : Write the units, and the commands that ask the application": (
        "echo PrivateTmp=no >> /etc/systemd/system/groundcrew-portal.service"
    ),
    "portal : Bring the database and what jobs import to this version": "rm -r /var/lib/groundcrew/runtime/*",
    "stream : Keep it running": "systemctl disable --now groundcrew-stream.socket",
    "scheduler : Write the units": "echo '# nothing' > /etc/systemd/system/groundcrew-jobs.slice",
    "ssh_door : Write the unit, what it needs besides, and its settings": "rm /etc/groundcrew/ssh.env",
    "ssh_door : Keep it running": "systemctl disable --now groundcrew-ssh.service",
    "task_workers : Keep one running per queue": "systemctl disable --now groundcrew-worker@images",
    "repairs : Write the units": "rm /etc/systemd/system/groundcrew-repair-run@.service",
    "repairs : Say which hosts there are": "rm /etc/groundcrew/repair/inventory.yml",
    "nginx : Sign a certificate by the installation's own authority": "rm /etc/groundcrew/tls/portal.pem",
    "nginx : Write the site": "echo '# nothing' > /etc/nginx/conf.d/groundcrew.conf",
    "nginx : Have nginx": "dpkg --purge --force-depends nginx-light",
    "agent : Write the unit": "rm /etc/systemd/system/groundcrew-agent.service",
    "agent : Keep it running": "systemctl disable --now groundcrew-agent.service",
}
"""A file, a unit or a package of each role, by the task that must notice it and mend it.

Other packages need openssl: while it is gone, apt installs nothing else.
"""


@pytest.mark.long
def test_what_was_damaged_is_mended(installed: Played, host: Host, ansible_programs: Path) -> None:
    for command in reversed(DAMAGE.values()):
        host.ask(command)
    mended = play_there(host, ansible_programs, "site.yml").must_succeed()
    assert set(DAMAGE) - set(mended.changed_tasks()) == set(), mended.changed_tasks()
    host.wait_until(f"curl -fsS --cacert {AUTHORITY} https://localhost/health")
    for name in UNITS_OF_THE_MASTER:
        host.wait_until(f"systemctl is-active groundcrew-{name}")
    again = play_there(host, ansible_programs, "site.yml").must_succeed()
    assert set(again.changed.values()) == {0}, again.changed_tasks()
