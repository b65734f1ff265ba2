"""A bare host becomes the appliance: installed, entered, trained on, restarted, damaged and mended."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.hosts.appliance.conftest import Played, RunSite
from tests.hosts.appliance.entering import enter
from tests.hosts.appliance.testbed import Testbed

OURS = ("portal", "stream", "scheduler", "worker@general", "worker@images", "agent")
MOST_EXPOSED = {"portal": 2.0, "stream": 2.0}
AUTHORITY = "/etc/groundcrew/tls/authority.pem"


@pytest.fixture(scope="module")
def installed(bed: Testbed, run_site: RunSite) -> Played:
    """The first run on a bare host; every test of this module needs it."""
    bed.add("one")
    return run_site(bed.inventory(["one"], ["one"], {})).must_succeed()


@pytest.fixture(scope="module")
def url(bed: Testbed) -> str:
    return f"https://{bed.hosts['one'].address}"


def test_the_run_ends_with_address_secret_version_ports_and_next_steps(installed: Played, url: str) -> None:
    for word in (f"running at {url}", f"{url}/first-administrator", "Version: 0.", "Ports: 443", "Next: "):
        assert word in installed.output
    assert re.search(r"One-time secret:\s+[0-9A-Z]{4}(-[0-9A-Z]{4}){3}", installed.output)


def test_another_host_reaches_the_portal_over_tls(installed: Played, bed: Testbed, url: str) -> None:
    (other,) = bed.add("other")
    authority = bed.hosts["one"].ask(f"cat {AUTHORITY}")
    asked = "curl -sS --http2 -o /dev/null -w '%{http_code} %{http_version}'"
    told = other.ask(f"cat > /tmp/a.pem <<'END'\n{authority}\nEND\n{asked} --cacert /tmp/a.pem {url}/health")
    assert told == "200 2"
    assert "certificate" in other.run(f"curl -sS {url}/health").stdout


def test_the_first_administrator_signs_in_with_a_browser(
    installed: Played, url: str, browser: Browser
) -> None:
    with browser.new_context(ignore_https_errors=True, locale="en-US") as context:
        page = context.new_page()
        enter(page, url, installed.output)
        page.goto(f"{url}/nodes")
        expect(page.locator("main")).to_contain_text("CPU slot")
        assert all(cookie["secure"] for cookie in context.cookies())


def test_a_second_run_changes_nothing(installed: Played, bed: Testbed, run_site: RunSite) -> None:
    second = run_site(bed.inventory(["one"], ["one"], {})).must_succeed()
    assert set(second.changed.values()) == {0}, second.changed_tasks()


def test_a_flight_trains_as_a_transient_unit_while_every_service_restarts(
    installed: Played, bed: Testbed
) -> None:
    host = bed.hosts["one"]
    host.ask("systemd-run --unit flight --setenv=LANG=C.UTF-8 groundcrew-appliance first-flight")
    host.wait_until("systemctl is-active 'gc-*.service'", 240)
    for name in OURS:
        host.ask(f"systemctl restart groundcrew-{name}")
    host.ask("systemctl restart redis-server@groundcrew nginx")
    host.wait_until("journalctl -u flight -o cat | grep -E '^Landed'", 300)
    assert "Landed: validation accuracy 9" in host.ask("journalctl -u flight -o cat")
    assert host.run("systemctl list-units 'gc-*' --no-legend --plain").stdout.strip() == ""
    uid = host.ask("stat -c %u /var/lib/groundcrew/storage/workspaces/1/jobs/1/1/out/metrics.jsonl")
    assert int(uid) > 100_000


def test_units_are_hardened_and_only_the_scheduler_is_root(installed: Played, bed: Testbed) -> None:
    host = bed.hosts["one"]
    for name in OURS:
        shown = host.run(f"systemd-analyze security --no-pager groundcrew-{name}.service").stdout
        level = re.search(r"exposure level for \S+: ([\d.]+)", shown)
        assert level is not None, shown
        assert float(level[1]) <= MOST_EXPOSED.get(name, 4.0), (name, level[0])
        user = host.ask(f"systemctl show -P User groundcrew-{name}.service")
        assert (user in {"", "root"}) == (name == "scheduler"), (name, user)


@pytest.mark.parametrize(
    "damage",
    [
        "sed -i s/4096/10/ /etc/sysctl.d/60-groundcrew.conf",
        "systemctl disable --now groundcrew-agent.service",
        "echo PrivateTmp=no >> /etc/systemd/system/groundcrew-portal.service",
        "rm /etc/groundcrew/tls/portal.pem",
        "echo '# nothing' > /etc/nginx/conf.d/groundcrew.conf",
        "rm /opt/groundcrew/current",
    ],
)
def test_what_was_damaged_is_mended(installed: Played, bed: Testbed, run_site: RunSite, damage: str) -> None:
    host = bed.hosts["one"]
    inventory = bed.inventory(["one"], ["one"], {})
    host.ask(damage)
    assert sum(run_site(inventory).must_succeed().changed.values()) > 0
    host.wait_until("curl -fsSk https://localhost/health && systemctl is-active groundcrew-agent", 60)
