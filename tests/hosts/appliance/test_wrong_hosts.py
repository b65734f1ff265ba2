"""Hosts that are really wrong: preflight names each with its remedy, and nothing on them is changed."""

import json

import pytest

from tests.hosts.appliance.conftest import RunSite
from tests.hosts.machines.testbed import Host, Testbed

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
    ending = played.output.partition("This run has not ended well.")[2]
    assert "the same command goes on from there:\n    ansible-playbook -i " in ending, played.output[-2000:]
    assert set(played.changed.values()) == {0}
    assert packages(host) == before
    assert not [path for path in written if "/dbus/" not in path and "/systemd/" not in path], written


def test_an_address_that_is_translated_and_one_that_is_the_masters_are_named(
    host: Host, bed: Testbed, run_site: RunSite
) -> None:
    """The other host is reached through this machine, which translates; others know it by that address."""
    bed.add("behind", published=[22])
    address, port = bed.translated("behind", 22)
    inventory = bed.inventory(["wrong"], ["wrong", "behind"], {"mofed_address": f"{host.address}/24"})
    known = json.loads(inventory.read_text())
    there = known["groundcrew"]["children"]["worker"]["hosts"][bed.hosts["behind"].name]
    there.update(ansible_host=address, ansible_port=port, base_address=address)
    inventory.write_text(json.dumps(known))
    played = run_site(inventory)
    assert played.code != 0 and set(played.changed.values()) == {0}
    for code, remedy in (
        ("translation", "Put master and workers into one routed network"),
        ("rdma_address", "Give the RDMA interface an address of its own network"),
    ):
        assert f"[{code}]" in played.output and remedy in played.output, played.output[-4000:]


GPU = {"address": "0000:41:00.0", "vendor": "0x10de", "device": "0x2330", "class": "0x030200", "driver": None}
BY_FACTS: dict[str, object] = {
    "time": 0,
    "time_zone": "Pacific/Chatham",
    "disk": {"path": "/var/lib", "bytes": 2**33, "free_bytes": 2**30},
    "swap_bytes": 2**30,
    "secure_boot": True,
    "pci": [GPU],
    "kernel": "6.1.0-50-amd64",
    "has_run_installer": True,
    "packages": {"docker-ce": "5:28.0.0-1"},
}
"""What cannot be made wrong here: the clock, the disk, swap and the firmware are the machine's below."""
NAMED = {
    "clock": ("STOP", "timedatectl set-ntp true"),
    "disk_full": ("STOP", "Make room on /var/lib"),
    "time_zone": ("note", "timedatectl set-timezone"),
    "swap": ("note", "swapoff --all"),
    "secure_boot": ("STOP", "Turn Secure Boot off"),
    "driver_run": ("STOP", "nvidia-uninstall"),
    "docker": ("STOP", "apt-get purge docker-ce"),
    "driver": ("note", "the role nvidia_driver installs it"),
}


def test_what_cannot_be_made_wrong_here_is_tried_by_facts(
    host: Host, bed: Testbed, run_site: RunSite
) -> None:
    inventory = bed.inventory(["wrong"], ["wrong"], {"preflight_given_facts": BY_FACTS})
    played = run_site(inventory, "--tags", "preflight")
    assert played.code != 0 and set(played.changed.values()) == {0}
    for code, (mark, remedy) in NAMED.items():
        assert f"{mark} [{code}]" in played.output and remedy in played.output, played.output[-4000:]
