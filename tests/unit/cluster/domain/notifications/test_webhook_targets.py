"""Which webhooks of people may be called."""

from ipaddress import ip_network

import pytest

from cluster.domain.errors import Refused
from cluster.domain.notifications.webhook_targets import is_callable_address, parse_webhook_target

CLUSTER = tuple(map(ip_network, ("10.20.0.0/16", "10.244.0.0/16", "192.0.2.7/32", "fd12:3456::/32")))
HOSTS = ("chat.lab.example", "hooks.lab.example:8443")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.10",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "::1",
        "169.254.0.1",
        "169.254.169.254",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "::ffff:100.100.100.200",
        "fe80::1",
        "fe80::1%eth0",
        "febf::1",
        "fec0::1",
        "224.0.0.1",
        "239.1.1.1",
        "255.255.255.255",
        "240.0.0.1",
        "ff02::1",
        # The cluster's own networks, and one node's address.
        "10.20.0.1",
        "10.20.255.255",
        "10.244.3.4",
        "192.0.2.7",
        "fd12:3456:1::1",
        # IPv4 in IPv6.
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "::ffff:169.254.169.254",
        "::ffff:10.20.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.20.0.1",
        "64:ff9b:1::7f00:1",
        "::ffff:0:127.0.0.1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        # What is no numeric address at all.
        "",
        "localhost",
        "2130706433",
        "0x7f.1",
        "127.1",
        "010.020.000.001",
    ],
)
def test_no_webhook_is_called_here_nearby_or_in_the_cluster(address: str) -> None:
    assert not is_callable_address(address, CLUSTER)


@pytest.mark.parametrize(
    "address",
    [
        "198.51.100.7",
        "10.30.0.1",
        "192.168.1.20",
        "192.0.2.8",
        "2001:db8::7",
        "fd99::7",
        "::ffff:198.51.100.7",
        "64:ff9b::198.51.100.7",
    ],
)
def test_other_addresses_may_be_called(address: str) -> None:
    assert is_callable_address(address, CLUSTER)


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://chat.lab.example/in/7?x=1", True),
        ("http://chat.lab.example/", True),
        ("https://CHAT.lab.example:443/in", True),
        ("https://hooks.lab.example:8443/in", True),
        ("https://hooks.lab.example/in", False),
        ("https://chat.lab.example:8443/in", False),
        ("http://chat.lab.example:443/in", False),
        ("https://chat.lab.example./in", False),
        ("https://evil.chat.lab.example/in", False),
        ("https://lab.example/chat.lab.example", False),
        ("https://2130706433/in", False),
        ("https://[::1]/in", False),
    ],
)
def test_hosts_are_compared_whole(url: str, is_allowed: bool) -> None:
    assert parse_webhook_target(url).is_allowed(HOSTS) is is_allowed


@pytest.mark.parametrize(
    "url",
    [
        "chat.lab.example/in",
        "ftp://chat.lab.example/in",
        "file:///etc/passwd",
        "https://",
        "https:///in",
        "https://user@chat.lab.example/in",
        "https://user:secret@chat.lab.example/in",
        "https://chat.lab.example@127.0.0.1/in",
        "https://chat.lab.example\\@127.0.0.1/in",
        "https://chat.lab.example/in#there",
        "https://chat.lab.example:0/in",
        "https://chat.lab.example:99999/in",
        "https://chat.lab.example:http/in",
        "https://chat.lab.example/in there",
        "https://chat.lab.example/in\r\nHost: other",
        "https://chat.lab.example/알림",
        "https://ⓒhat.lab.example/in",
        "https://[::1/in",
        "https://chat.lab.example/" + "x" * 500,
    ],
)
def test_what_could_be_read_in_two_ways_is_no_webhook(url: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_webhook_target(url)
    assert refused.value.code == "notification.webhook_unusable"
