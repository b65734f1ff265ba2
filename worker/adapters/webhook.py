"""Calls the webhook of the settings with signed JSON, and follows no redirect."""

import hashlib
import hmac
import json
import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from cluster.domain.errors import Unavailable

PATIENCE = 20.0
"""Seconds."""


def sign_body(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over the time and the body, so that an old call cannot be played again as a new one."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def call_webhook(url: str, secret: str, delivery: int, timestamp: str, content: Mapping[str, Any]) -> None:
    """Taken by any 2xx, whose body is not read; a redirect would carry what is meant for one place to another.

    Raises Unavailable, without the address, which may be a secret.
    """
    body = json.dumps(content, ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "X-Groundcrew-Delivery": str(delivery),
        "X-Groundcrew-Timestamp": timestamp,
        "X-Groundcrew-Signature": f"sha256={sign_body(secret, timestamp, body)}",
    }
    try:
        with httpx.stream(
            "POST",
            url,
            content=body,
            headers=headers,
            timeout=PATIENCE,
            verify=ssl.create_default_context(),  # What the machine trusts, a site's own authority too.
            follow_redirects=False,
        ) as answer:
            is_taken, status = answer.is_success, answer.status_code
    except httpx.TransportError as error:
        reason = root_cause(error)
        raise Unavailable("webhook.not_taken", error=f"{type(reason).__name__}: {reason}"[:300]) from error
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, OSError, ValueError) as error:
        # Of an address that cannot be called these quote it.
        raise Unavailable("webhook.not_taken", error=type(error).__name__) from error
    if not is_taken:
        raise Unavailable("webhook.not_taken", error=f"HTTP {status}")


def root_cause(error: BaseException) -> BaseException:
    """What the system said, as ConnectionRefusedError."""
    return root_cause(error.__cause__) if error.__cause__ else error
