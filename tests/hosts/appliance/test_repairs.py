"""Repairs on a host that site.yml has installed: broken for real, seen red, clicked or asked for over REST, and green.

Installing takes most of the time, see installed_host.py; GROUNDCREW_INSTALLED_HOST names a host that is there already.
"""

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser

from cluster.domain.nodes.node_state import UNREACHABLE_AFTER
from tests.browser.repair_pages import pages_of_repairs
from tests.hosts.appliance.fakes import fake_gpu
from tests.hosts.appliance.installer.ansible_runs import Played
from tests.hosts.appliance.repair_scenarios import EXPIRE, Break, Mender, ask_rows, make_token, write_down
from tests.hosts.machines.testbed import Host

ASK_DOOR = """import socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect("/run/groundcrew/repair-run.sock")
door.sendall(sys.argv[1].encode() + b"\\n")
print(door.recv(65536).decode())"""

KEEP_FROM_STARTING = """folder=/run/systemd/system/groundcrew-agent.service.d; mkdir -p $folder
printf '[Service]\\nExecStartPre=/bin/false\\n' > $folder/broken.conf
systemctl daemon-reload; systemctl stop groundcrew-agent"""

AGE = f"{UNREACHABLE_AFTER.total_seconds():.0f} seconds"
IS_SILENT = (
    ask_rows(f"select count(*) from nodes where heartbeat_at > now() - interval '{AGE}'") + " | grep -x 0"
)

BREAKS = [
    Break(
        "restart-api",
        "portal and its socket stopped and disabled",
        "systemctl disable --now groundcrew-portal.service groundcrew-portal.socket",
        is_clicked=True,
    ),
    Break(
        "restart-front",
        "stream stopped, its socket deleted, nginx hangs",
        "systemctl stop groundcrew-stream.socket groundcrew-stream.service; rm -f /run/groundcrew/stream.sock; "
        "pgrep --exact nginx | xargs kill -STOP",
        hides_the_site=True,
    ),
    Break(
        "restart-master",
        "Redis stopped and disabled, a task worker disabled, the scheduler hangs",
        "systemctl disable --now redis-server@groundcrew groundcrew-worker@images; "
        "systemctl kill --kill-whom=main --signal=STOP groundcrew-scheduler",
    ),
    Break(
        "restart-worker-agent",
        "agent stopped and disabled",
        "systemctl disable --now groundcrew-agent",
        is_clicked=True,
    ),
    Break(
        "reconnect-node",
        "the node's token deleted",
        "rm /etc/groundcrew/agent/token; systemctl restart groundcrew-agent; true",
    ),
    Break("renew-certificates", "certificate expired", EXPIRE),
    Break(
        "restart-container-engine",
        "containerd stopped and disabled",
        "systemctl disable --now containerd",
        is_long=True,
    ),
    Break(
        "restart-worker",
        "containerd disabled, the agent hangs",
        "systemctl disable --now containerd; systemctl kill --kill-whom=main --signal=STOP groundcrew-agent",
        is_long=True,
        shows=IS_SILENT,
    ),
    Break(
        "reboot-node",
        "what lies in /run keeps the agent from starting, on the master, which is started anew",
        KEEP_FROM_STARTING,
        typed=True,
        is_long=True,
    ),
    Break(
        "restore-training-environment",
        "the environment's folder deleted",
        "rm -rf /var/cache/groundcrew-services/training-*",
        is_long=True,
    ),
]


ON_STAND_INS = [
    Break(
        "restart-fabric-manager",
        "fabric manager stopped and disabled (stand-in)",
        "systemctl disable --now nvidia-fabricmanager; touch /hardware/no-fabric",
    ),
    Break("reset-gpu", "a GPU that nvidia-smi does not reach (stand-in)", "touch /hardware/lost"),
    Break("reload-driver", "driver and library differ (stand-in)", "touch /hardware/old", typed=True),
]


def shown(broken: Break) -> Any:
    return pytest.param(broken, id=broken.repair, marks=[pytest.mark.long] if broken.is_long else [])


@pytest.fixture(scope="module")
def host(own_host: Host, self_installed: Played) -> Host:
    return own_host


@pytest.fixture(scope="module")
def mender(host: Host) -> Mender:
    return Mender(host, make_token(host))


@pytest.fixture(scope="module")
def clicker(mender: Mender, browser: Browser) -> Iterator[Mender]:
    """The administrator in chromium."""
    with pages_of_repairs(browser, mender.url) as pages:
        yield replace(mender, pages=pages)


@pytest.fixture(scope="module")
def is_whole(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.option.markexpr != "not long")


@pytest.fixture
def asker(request: pytest.FixtureRequest, is_whole: bool, broken: Break) -> Mender:
    """Whoever asks for this repair: a click is the longer way, so where time is short only some are clicked."""
    asker: Mender = request.getfixturevalue("clicker" if is_whole or broken.is_clicked else "mender")
    return asker


@pytest.mark.parametrize("broken", [shown(broken) for broken in BREAKS])
def test_a_broken_host_is_seen_red_and_mended(asker: Mender, is_whole: bool, broken: Break) -> None:
    """Where there is time what the catalogue says to try first is tried first, and leaves it red."""
    see_red_and_mend(asker, try_gentler_ways(asker, broken) if is_whole else broken)


def try_gentler_ways(mender: Mender, broken: Break) -> Break:
    """Each on this very break; what is left of it is broken already. Of a site that does not come nobody asks them."""
    gentler = [] if broken.hides_the_site else mender.call("GET", f"repairs/{broken.repair}")["gentler"]
    for name in gentler:
        mender.mend(replace(broken, repair=name, typed=False))
    mender.host.wait_until(broken.shows)
    return replace(broken, command="true") if gentler else broken


def see_red_and_mend(mender: Mender, broken: Break) -> None:
    mended = mender.mend(broken)
    write_down(broken, mended)
    assert mended.was_red, mended.before
    assert mended.verdict == "verified", (mended.checks, mended.tasks)
    assert mender.host.run("test -e /tmp/pwn").returncode != 0


@pytest.mark.long
def test_a_front_that_hangs_is_mended_at_the_console_which_tries_the_api_first(mender: Mender) -> None:
    """Nobody can click: the site does not come."""
    (front,) = (broken for broken in BREAKS if broken.hides_the_site)
    mender.host.ask(front.command)
    gentler, mended = (
        mender.type_at_the_console(title) for title in ("Restart the API", "Restart the front")
    )
    assert gentler.verdict == "verified"
    assert mended.was_red and mended.verdict == "verified", mended
    mender.host.wait_until("curl -skf https://localhost/health | grep -q ok", 30)


@pytest.fixture(scope="module")
def drained(mender: Mender) -> Iterator[None]:
    """With GPUs that are none, and a node on which nothing starts."""
    (node,) = (each for each in mender.call("GET", "nodes")["items"] if each["name"] == mender.host.name)
    mender.host.ask(fake_gpu.PREPARE)
    mender.call("POST", f"nodes/{node['id']}/drain", {"reason": "a GPU to be reset"})
    yield
    mender.call("POST", f"nodes/{node['id']}/undrain")
    mender.host.ask(fake_gpu.REMOVE)


@pytest.mark.long
@pytest.mark.parametrize("broken", ON_STAND_INS, ids=lambda broken: broken.repair)
def test_gpus_are_mended_on_stand_ins(drained: None, asker: Mender, broken: Break) -> None:
    see_red_and_mend(asker, try_gentler_ways(asker, broken))


def test_a_look_ahead_says_what_would_change_and_changes_nothing(mender: Mender) -> None:
    since = "systemctl show -P ActiveEnterTimestampMonotonic groundcrew-portal.service"
    before = mender.host.ask(since)
    ahead = mender.mend(Break("restart-api", "", "true"), is_dry_run=True)
    assert ahead.verdict == "looked_ahead", ahead.tasks
    assert [list(task["hosts"].values()) for task in ahead.tasks][-1] == ["changed"]
    assert mender.host.ask(since) == before


def test_the_portal_can_ask_for_a_repair_by_no_key_of_redis(mender: Mender) -> None:
    """S8: what it may write nobody who repairs reads."""
    password = mender.host.ask("cat /etc/groundcrew/secrets/redis-portal")
    ask = f"redis-cli -s /run/redis-groundcrew/redis.sock --user portal --pass {password} --no-auth-warning"
    assert "NOPERM" in mender.host.run(f"{ask} lpush rq:queue:repair 1").stdout
    assert "NOPERM" in mender.host.run(f"{ask} publish rq:pubsub:repair 1").stdout
    assert mender.host.ask(f"{ask} lpush rq:queue:general-none 1 || true").startswith("NOPERM")


def as_user(name: str, groups: str, command: str) -> str:
    return f"setpriv --reuid {name} --regid {name} --groups {groups} -- {command}"


def test_the_task_worker_of_repairs_gets_nothing_but_what_the_door_knows(mender: Mender) -> None:
    """Whoever takes it over has neither key nor sudo, and cannot look into or write into a run."""
    host = mender.host

    def as_watcher(command: str) -> str:
        return as_user("groundcrew-watch", "groundcrew-watch,groundcrew", command)

    for secret in ("repair/key", "repair/inventory.yml", "repair/known_hosts"):
        assert host.run(as_watcher(f"cat /etc/groundcrew/{secret}")).returncode != 0
    assert host.run(as_watcher("sudo -n /bin/sh -c true")).returncode != 0
    assert host.run(as_watcher("mkdir /var/lib/groundcrew/repairs/7777")).returncode != 0
    for words in (
        '{"do": "run", "number": "7777", "playbook": "/tmp/x.yml"}',
        '{"do": "end", "number": "7777"}',
    ):
        said = host.ask(as_watcher(f"python3 -c {shlex.quote(ASK_DOOR)} {shlex.quote(words)}"))
        assert json.loads(said)["code"] in ("repair.refused_request", "repair.refused_run"), said
    assert '"event": "refused"' in host.ask("journalctl --since=-5min -u 'groundcrew-repair-run@*' -o cat")
    assert host.run("test -e /var/lib/groundcrew/repairs/7777").returncode != 0


def test_the_portal_has_no_key_and_may_not_become_root(mender: Mender) -> None:
    host = mender.host
    for secret in ("repair/key", "repair/inventory.yml", "repair.env"):
        assert host.run(f"runuser -u groundcrew -- cat /etc/groundcrew/{secret}").returncode != 0
    assert host.run("runuser -u groundcrew -- sudo -n /bin/sh -c true").returncode != 0
    assert host.run(
        'runuser -u groundcrew -- python3 -c "import socket; '
        "socket.socket(socket.AF_UNIX).connect('/run/groundcrew/repair-run.sock')\""
    ).stdout.count("PermissionError")


def test_a_playbook_that_somebody_changed_runs_nothing(mender: Mender) -> None:
    playbook = "/opt/groundcrew/ansible/playbooks/repair/restart-api.yml"
    mender.host.ask(f"cp {playbook} /root/kept.yml")
    try:
        changed = Break("restart-api", "", f"echo '# changed' >> {playbook}")
        assert mender.mend(changed).verdict == "broken"
    finally:
        mender.host.ask(f"cp /root/kept.yml {playbook}")
