"""A master, two worker nodes and one that joins and leaves: each reports to the portal with a token of its own."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.repair_pages import pages_of_repairs
from tests.hosts.appliance.conftest import ROOT, UNITS_OF_THE_MASTER, Played, RunSite
from tests.hosts.appliance.fakes.fake_hardware import H100, commands, gpu
from tests.hosts.appliance.installer.first_sign_in import enter
from tests.hosts.appliance.repair_scenarios import SHOWN_WITHIN, Break, Mended, Mender, make_token, write_down
from tests.hosts.machines.host_image import docker
from tests.hosts.machines.host_snapshot import differences, found
from tests.hosts.machines.testbed import Testbed

AUTHORITY = "/etc/groundcrew/agent/authority.pem"
TOKEN = "/etc/groundcrew/agent/token"
BEAT = f"curl -sS -o /dev/null -w '%{{http_code}}' --cacert {AUTHORITY}"
BODY = '{"boot_id": "x", "facts": {}, "units": []}'
THREE = ["m", "w1", "w2"]
AGENT_SINCE = "systemctl show -P ActiveEnterTimestampMonotonic groundcrew-agent"
MENDED_WITHIN = 300
"""Seconds."""
STATE_OF_THE_FIRST_TRAINING = (
    "sudo -u postgres psql -At groundcrew -c 'select state from jobs order by id desc limit 1'"
)


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NVML with two simulated GPUs, which say so."""
    library = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    source = ROOT / "tests" / "data" / "nvml" / "stand_in.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


@pytest.fixture(scope="module")
def installed(bed: Testbed, run_site: RunSite, gpus: Path) -> Played:
    if bed.hosts:
        return Played(0, "", 0.0)
    _, one, other = bed.add(*THREE)
    for host in (one, other):
        docker("cp", str(gpus), f"{host.name}:/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")
        host.ask("ldconfig")
    return run_site(bed.inventory(["m"], THREE, {})).must_succeed()


@pytest.fixture(scope="module")
def url(bed: Testbed) -> str:
    return f"https://{bed.hosts['m'].address}"


def test_the_portal_answers_another_host_over_tls(installed: Played, bed: Testbed, url: str) -> None:
    other = bed.hosts["w1"]
    asked = "curl -sS --http2 -o /dev/null -w '%{http_code} %{http_version}'"
    assert other.ask(f"{asked} --cacert {AUTHORITY} {url}/health") == "200 2"
    assert "certificate" in other.run(f"curl -sS {url}/health").stdout


def test_the_first_administrator_sees_three_nodes_with_interfaces_and_simulated_gpus(
    installed: Played, bed: Testbed, url: str, browser: Browser
) -> None:
    with browser.new_context(ignore_https_errors=True, locale="en-US") as context:
        page = context.new_page()
        enter(page, url, installed.output)
        page.goto(f"{url}/nodes")
        for host in bed.hosts.values():
            row = page.locator("main tr", has_text=host.name).first
            expect(row).to_be_visible(timeout=20_000)
            expect(row).to_contain_text("CPU slot" if host.name.endswith("-m") else "simulated GPU")
        page.get_by_role("link", name=bed.hosts["w1"].name).first.click()
        expect(page.locator("main")).to_contain_text(bed.hosts["w1"].address)
        expect(page.locator("main")).to_contain_text("Stand-in 80GB")


def test_a_nodes_token_speaks_for_that_node_alone(installed: Played, bed: Testbed, url: str) -> None:
    worker = bed.hosts["w1"]
    post = f"{BEAT} -H 'Content-Type: application/json' -d '{BODY}' {url}/api/v1/heartbeats"
    assert worker.ask(post) == "401"
    assert worker.ask(f'{BEAT} -H "Authorization: Bearer $(cat {TOKEN})" {url}/api/v1/nodes') == "401"
    assert worker.run(f"sudo -u groundcrew-agent cat {TOKEN}").returncode != 0


@pytest.mark.long
def test_a_second_run_changes_nothing(installed: Played, bed: Testbed, run_site: RunSite) -> None:
    """What it would find is found as well by the run with which a fourth host joins."""
    second = run_site(bed.inventory(["m"], THREE, {})).must_succeed()
    assert set(second.changed.values()) == {0}, second.changed_tasks()


@pytest.mark.long
def test_agents_of_two_nodes_are_mended_in_one_run(installed: Played, bed: Testbed, browser: Browser) -> None:
    """Chosen in the forecast. The master, whose agent is well, is left alone; each node's end is told by itself."""
    mender = Mender(bed.hosts["m"], make_token(bed.hosts["m"]))
    broken = [bed.hosts["w1"], bed.hosts["w2"]]
    before = bed.hosts["m"].ask(AGENT_SINCE)
    for host in broken:
        host.ask("systemctl disable --now groundcrew-agent")
    stopped = Break("restart-worker-agent", "agents of two nodes stopped and disabled", "true", is_long=True)
    with pages_of_repairs(browser, mender.url) as pages:
        mended = replace(mender, pages=pages).mend(stopped, nodes=broken)
    write_down(stopped, mended)
    assert mended.was_red, mended.before
    assert mended.verdict == "verified", (mended.checks, mended.tasks)
    names = {host.name for host in broken}
    assert all(set(task["hosts"]) == names for task in mended.tasks), mended.tasks
    assert bed.hosts["m"].ask(AGENT_SINCE) == before


@pytest.mark.long
def test_what_failed_on_one_of_two_nodes_is_mended_on_that_one_alone(
    installed: Played, bed: Testbed, browser: Browser
) -> None:
    """The page of the run leads there; the node that was mended is left alone."""
    mender = Mender(bed.hosts["m"], make_token(bed.hosts["m"]))
    well, closed = bed.hosts["w1"], bed.hosts["w2"]
    for host in (well, closed):
        host.ask("systemctl disable --now groundcrew-agent")
    shut = Break("restart-worker-agent", "", "systemctl stop ssh; pkill -x sshd; true", is_long=True)
    with pages_of_repairs(browser, mender.url) as pages:
        clicker = replace(mender, pages=pages)
        first = clicker.mend(shut, on=closed, nodes=[well, closed])
        assert (first.verdict, pages.follow(SHOWN_WITHIN)) == ("not_verified", "not_verified")
        assert first.tasks[0]["hosts"] == {well.name: "changed", closed.name: "unreachable"}, first.tasks
        closed.ask("systemctl start ssh")
        before = well.ask(AGENT_SINCE)
        pages.open_forecast_of_failed_nodes()
        run_id = pages.run_forecast("on the one that no ssh reached")
        assert pages.follow(MENDED_WITHIN) == "verified"
        again = clicker.read(run_id)
    words = "agents of two nodes stopped, ssh of one of them too: run again on that one alone"
    write_down(replace(shut, words=words), again)
    assert again.was_red, again.before
    assert {name for task in again.tasks for name in task["hosts"]} == {closed.name}, again.tasks
    assert well.ask(AGENT_SINCE) == before


BUS = "/sys/bus/pci/devices"
SMI = """cat > /usr/local/bin/nvidia-smi <<'END'
#!/bin/sh
for number in 1 2; do echo "GPU-0000000$number-0000-0000-0000-000000000000, 580.126.20"; done
END
chmod 755 /usr/local/bin/nvidia-smi"""
"""A stand-in, which shows the two GPUs that the agent reads by the simulated library."""
ONE_IS_LOST = "3 GPUs are on the PCI bus and nvidia-smi shows 2"


@pytest.fixture
def cards(installed: Played, bed: Testbed) -> Iterator[None]:
    """On the bus of one node as many GPUs as its driver shows, on that of the other one more."""
    shown = {"w1": 2, "w2": 3}
    for name, count in shown.items():
        bed.hosts[name].ask(f"{commands([gpu(H100)] * count)} && mount --bind /hardware{BUS} {BUS} && {SMI}")
    try:
        yield
    finally:
        for name in shown:
            bed.hosts[name].ask(f"umount {BUS}; rm -r /hardware /usr/local/bin/nvidia-smi")


def check_gpus(bed: Testbed) -> Mended:
    """The repair *Check the GPUs of nodes* on both nodes, asked for over REST."""
    mender = Mender(bed.hosts["m"], make_token(bed.hosts["m"]))
    return mender.mend(Break("verify-gpus", "", "true"), nodes=[bed.hosts["w1"], bed.hosts["w2"]])


def test_gpus_that_nothing_contradicts_pass_their_check(installed: Played, bed: Testbed) -> None:
    checked = check_gpus(bed)
    assert checked.verdict == "verified", (checked.checks, checked.tasks)
    last = checked.tasks[-1]
    assert last["hosts"] == {bed.hosts["w1"].name: "ok", bed.hosts["w2"].name: "ok"}, checked.tasks


def test_the_check_names_the_gpu_that_the_bus_has_and_the_driver_has_not(cards: None, bed: Testbed) -> None:
    well, short = bed.hosts["w1"].name, bed.hosts["w2"].name
    checked = check_gpus(bed)
    assert checked.verdict == "not_verified", (checked.checks, checked.tasks)
    last = checked.tasks[-1]
    assert last["hosts"] == {well: "ok", short: "failed"}, checked.tasks
    assert ONE_IS_LOST in last["output"][short] and "dmesg | grep -i nvrm" in last["output"][short]


def are_up(bed: Testbed, *names: str) -> None:
    """Nobody has typed anything on them since they started."""
    master = bed.hosts["m"]
    for name in names:
        bed.hosts[name].wait_until("systemctl is-active groundcrew-agent", 60)
        bed.hosts[name].wait_until(f"{BEAT} https://{master.address}/health | grep 200", 60)
        assert bed.hosts[name].has_failed_units() == ""
    if "m" in names:
        for unit in UNITS_OF_THE_MASTER:
            master.wait_until(f"systemctl is-active groundcrew-{unit}", 60)


@pytest.mark.parametrize("name", THREE)
def test_a_host_that_starts_anew_is_up_by_itself(installed: Played, bed: Testbed, name: str) -> None:
    bed.restart(name)
    are_up(bed, name)


def test_when_all_start_anew_at_once_a_queued_job_then_runs(installed: Played, bed: Testbed) -> None:
    master = bed.hosts["m"]
    master.ask("systemctl stop groundcrew-scheduler")
    training = "--setenv=LANG=C.UTF-8 groundcrew-appliance first-training"
    master.ask(f"systemd-run --unit before {training}")
    master.wait_until(f"{STATE_OF_THE_FIRST_TRAINING} | grep -x waiting", 60)
    bed.restart(*THREE)
    are_up(bed, *THREE)
    master.wait_until(f"{STATE_OF_THE_FIRST_TRAINING} | grep -x finished", 300)


def test_a_host_that_joins_touches_no_other_and_leaves_as_it_came(
    installed: Played, bed: Testbed, run_site: RunSite, uninstall: RunSite
) -> None:
    """The master learns of it, by its list of the hosts that repairs reach, and by nothing else."""
    (joined,) = bed.add("w3")
    joined.ask("apt-get -qq update")
    before = found(joined)
    inventory = bed.inventory(["m"], [*THREE, "w3"], {})
    played = run_site(inventory).must_succeed()
    assert played.changed_tasks(bed.hosts["m"].name) == ["repairs : Say which hosts there are"]
    assert [played.changed_tasks(bed.hosts[name].name) for name in ("w1", "w2")] == [[], []]
    joined.wait_until("systemctl is-active groundcrew-agent")
    uninstall(inventory, "--limit", joined.name).must_succeed()
    assert differences(before, found(joined)) == {}
