"""Calls the webhook of the settings or of a person with signed JSON, and follows no redirect."""

import hashlib
import hmac
import json
import socket
import ssl
from collections.abc import Collection, Mapping
from typing import Any

import httpx

from cluster.domain.errors import GroundcrewError, Unavailable
from cluster.domain.notifications.webhook_targets import IpNetwork, is_callable_address, parse_webhook_target

PATIENCE = 20.0
"""Seconds."""


def sign_body(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over the time and the body, so that an old call cannot be repeated as a new one."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def call_webhook(
    url: str,
    secret: str,
    delivery: int,
    timestamp: str,
    content: Mapping[str, Any],
    address: str | None = None,
) -> None:
    """Sends the call; any 2xx counts as delivered. Redirects are not followed, because they could lead to another
    receiver.

    With an `address` the connection goes there, past proxies and without asking the name server again; the host of
    the URL is still the one that the certificate has to name. Raises Unavailable. The error does not contain the URL,
    which may be a secret.
    """
    body = json.dumps(content, ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "X-Groundcrew-Delivery": str(delivery),
        "X-Groundcrew-Timestamp": timestamp,
        "X-Groundcrew-Signature": f"sha256={sign_body(secret, timestamp, body)}",
    }
    try:
        called, extensions = httpx.URL(url), {}
        if address is not None:
            headers["Host"], extensions["sni_hostname"] = called.netloc.decode(), called.host
            called = called.copy_with(host=address)
        # The certificates that the machine trusts, which may include a site's own authority.
        trusted = ssl.create_default_context()
        with (
            httpx.Client(verify=trusted, timeout=PATIENCE, trust_env=address is None) as client,
            client.stream("POST", called, content=body, headers=headers, extensions=extensions) as answer,
        ):
            is_taken, status = answer.is_success, answer.status_code
    except httpx.TransportError as error:
        reason = root_cause(error)
        raise Unavailable("webhook.not_taken", error=f"{type(reason).__name__}: {reason}"[:300]) from error
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, OSError, ValueError) as error:
        # The error of an invalid address would quote it.
        raise Unavailable("webhook.not_taken", error=type(error).__name__) from error
    if not is_taken:
        raise Unavailable("webhook.not_taken", error=f"HTTP {status}")


def call_personal_webhook(
    url: str,
    secret: str,
    delivery: int,
    timestamp: str,
    content: Mapping[str, Any],
    refused_networks: Collection[IpNetwork],
) -> None:
    """Calls a webhook that a person has named, unless one of the addresses of its host is refused.

    The host is resolved once, and the connection goes to the address that was checked. Raises Unavailable.
    """
    addresses = resolve_host(url)
    if not all(is_callable_address(each, refused_networks) for each in addresses):
        raise Unavailable("webhook.not_taken", error="notification.webhook_address")
    call_webhook(url, secret, delivery, timestamp, content, addresses[0])


def resolve_host(url: str) -> list[str]:
    """Returns at least one numeric address. Raises Unavailable."""
    try:
        target = parse_webhook_target(url)
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (GroundcrewError, OSError, UnicodeError) as error:
        raise Unavailable("webhook.not_taken", error=type(error).__name__) from error
    if not found:
        raise Unavailable("webhook.not_taken", error="gaierror")
    return [str(each[4][0]) for each in found]


def root_cause(error: BaseException) -> BaseException:
    """The system's own error, as ConnectionRefusedError."""
    return root_cause(error.__cause__) if error.__cause__ else error
