"""Decides which webhooks of people may be called: by their host, and by each address to which the host leads."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from cluster.domain.errors import Refused

PORTS = {"http": 80, "https": 443}
LONGEST_URL = 500
IpNetwork = IPv4Network | IPv6Network
IpAddress = IPv4Address | IPv6Address

UNREACHABLE_FOR_WEBHOOKS: tuple[IpNetwork, ...] = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # "This network": Linux connects 0.0.0.0 to the machine itself.
            "127.0.0.0/8",
            "169.254.0.0/16",  # Link-local; clouds answer with credentials there.
            "224.0.0.0/3",  # Multicast, reserved, broadcast.
            "::/127",  # Unspecified and loopback.
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
            # Metadata services of clouds that are not link-local.
            "100.100.100.200/32",
            "168.63.129.16/32",
            "192.0.0.0/24",
            "fd00:ec2::254/128",
            "fd20:ce::254/128",
            # Tunnels and translations: these addresses contain an IPv4 address, and a router would unpack it.
            "2001::/32",
            "2002::/16",
            "64:ff9b:1::/48",
            "::ffff:0:0:0/96",
        ),
    )
)
"""RFC 6890. Private networks are allowed, because a site's chat server is usually in one."""
TRANSLATED = IPv6Network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are the IPv4 address."""
COMPATIBLE = IPv6Network("::/96")
"""RFC 4291, 2.5.5.1, deprecated: the same."""


@dataclass(frozen=True)
class WebhookTarget:
    """The place to which a URL leads, before its host is resolved."""

    scheme: str
    host: str
    port: int

    def is_allowed(self, allowed_hosts: Collection[str]) -> bool:
        """An entry without a port stands for the usual port of http and https."""
        is_usual_port = self.port == PORTS[self.scheme]
        return f"{self.host}:{self.port}" in allowed_hosts or (is_usual_port and self.host in allowed_hosts)


def parse_webhook_target(url: str) -> WebhookTarget:
    """Raises Refused for everything that two programs could read differently."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Refused("webhook_url", "notification.webhook_unusable") from None
    is_plain = url.isascii() and url.isprintable() and not set(url) & set(' \\"<>^`{|}')
    has_credentials = parts.username is not None or parts.password is not None
    if (
        not is_plain
        or parts.scheme not in PORTS
        or not host
        or has_credentials
        or "#" in url
        or port == 0
        or len(url) > LONGEST_URL
    ):
        raise Refused("webhook_url", "notification.webhook_unusable")
    return WebhookTarget(parts.scheme, host, port or PORTS[parts.scheme])


def is_callable_address(address: str, cluster_networks: Iterable[IpNetwork]) -> bool:
    """Whether a webhook may be called at this numeric address; False for text that is no address."""
    try:
        found = unwrap_ipv4(ip_address(address.partition("%")[0]))
    except ValueError:
        return False
    refused = (*UNREACHABLE_FOR_WEBHOOKS, *cluster_networks)
    return not any(found in network for network in refused if network.version == found.version)


def unwrap_ipv4(address: IpAddress) -> IpAddress:
    """The IPv4 address that an IPv6 address stands for, or the address itself."""
    if not isinstance(address, IPv6Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    is_special = int(address) < 2
    if address in TRANSLATED or (address in COMPATIBLE and not is_special):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
