"""Repairs on a host that site.yml has installed: broken for real, seen red, asked for over REST, and green.

Installing takes most of the time; GROUNDCREW_INSTALLED_HOST names a host that is there already.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.appliance.conftest import ROOT, play_there
from tests.hosts.appliance.host_image import docker
from tests.hosts.appliance.mending import Break, Mender, make_token, write_down
from tests.hosts.appliance.testbed import Host

BREAKS = [
    Break(
        "restart-api",
        "portal and its socket stopped and disabled",
        "systemctl disable --now groundcrew-portal.service groundcrew-portal.socket",
    ),
]


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    known = os.environ.get("GROUNDCREW_INSTALLED_HOST")
    if known:
        address = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        yield Host(known, docker("inspect", "-f", address, known).stdout.strip())
        return
    programs: Path = request.getfixturevalue("ansible_programs")
    (host,) = request.getfixturevalue("bed").add("one", lent=(ROOT, programs.parent))
    play_there(host, programs, "site.yml", "--skip-tags", "hardware,training_environment").must_succeed()
    yield host


@pytest.fixture(scope="module")
def mender(host: Host) -> Mender:
    return Mender(host, make_token(host))


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.repair)
def test_a_broken_host_is_seen_red_and_mended(mender: Mender, broken: Break) -> None:
    mended = mender.mend(broken)
    write_down(broken, mended)
    assert mended.was_red, mended.before
    assert mended.verdict == "verified", (mended.checks, mended.tasks)
    assert mender.host.run("test -e /tmp/pwn").returncode != 0


def test_the_portal_can_ask_for_a_repair_by_no_key_of_redis(mender: Mender) -> None:
    """S8: what it may write nobody who repairs reads."""
    password = mender.host.ask("cat /etc/groundcrew/secrets/redis-portal")
    ask = f"redis-cli -s /run/redis-groundcrew/redis.sock --user portal --pass {password} --no-auth-warning"
    assert "NOPERM" in mender.host.run(f"{ask} lpush rq:queue:repair 1").stdout
    assert "NOPERM" in mender.host.run(f"{ask} publish rq:pubsub:repair 1").stdout
    assert mender.host.ask(f"{ask} lpush rq:queue:general-none 1 || true").startswith("NOPERM")


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
