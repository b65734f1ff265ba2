"""Hosts that are really wrong: preflight names each with its remedy, and nothing on them is changed."""

import pytest

from tests.hosts.appliance.conftest import RunSite
from tests.hosts.appliance.testbed import Host, Testbed

STATE = "find /etc /opt /usr/local /var/lib -xdev -newermt @{since} -not -path '/var/lib/private*' -type f"
"""Files that were written after a moment."""
WRONG = {
    "dns": ("echo nameserver 127.0.0.1 > /etc/resolv.conf", "mv /root/resolv.conf /etc/resolv.conf"),
    "port": (
        "systemd-run -q --unit taken python3 -m http.server 443",
        "systemctl stop taken",
    ),
    "sudo": ("mv /etc/sudoers.d/ops /root/ops", "mv /root/ops /etc/sudoers.d/ops"),
    "system": (
        'cp --remove-destination /usr/lib/os-release /root/os; sed -i \'s/"12"/"11"/\' /usr/lib/os-release',
        "cp /root/os /usr/lib/os-release",
    ),
}
"""How a host is made wrong, and right again."""


@pytest.fixture(scope="module")
def host(bed: Testbed) -> Host:
    (host,) = bed.add("wrong")
    host.ask("cp /etc/resolv.conf /root/resolv.conf")
    return host


def packages(host: Host) -> str:
    return host.ask(
        "dpkg-query -W; getent passwd; systemctl list-unit-files --no-legend --plain | grep -v transient"
    )


@pytest.mark.parametrize("code", list(WRONG))
def test_what_is_wrong_is_named_and_nothing_is_changed(
    host: Host, bed: Testbed, run_site: RunSite, code: str
) -> None:
    wrong, right = WRONG[code]
    host.ask(wrong)
    before, since = packages(host), host.ask("sleep 1; date +%s")
    try:
        played = run_site(bed.inventory(["wrong"], ["wrong"], {}))
    finally:
        written = host.run(STATE.format(since=since)).stdout.split()
        host.ask(right)
    assert played.code != 0
    assert f"STOP [{code}]" in played.output, played.output[-3000:]
    assert "remedy: " in played.output and "Nothing was changed." in played.output
    assert set(played.changed.values()) == {0}
    assert packages(host) == before
    assert not [path for path in written if "/dbus/" not in path and "/systemd/" not in path], written


@pytest.mark.parametrize(
    ("code", "given"),
    [
        ("clock", {"time": 0}),
        ("translation", {"peers": {"203.0.113.7": {"answers": True, "from": "10.9.9.9"}}, "interfaces": []}),
        ("memory", {"memory_bytes": 1}),
    ],
)
def test_what_cannot_be_made_wrong_here_is_tried_by_facts(
    host: Host, bed: Testbed, run_site: RunSite, code: str, given: dict[str, object]
) -> None:
    played = run_site(
        bed.inventory(["wrong"], ["wrong"], {"preflight_given_facts": given}), "--tags", "preflight"
    )
    assert played.code != 0 and f"STOP [{code}]" in played.output
    assert set(played.changed.values()) == {0}
