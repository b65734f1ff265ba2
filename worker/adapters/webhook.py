"""Calls the webhook of the settings with signed JSON, and follows no redirect."""

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

from cluster.domain.errors import Unavailable

PATIENCE = 20.0
"""Seconds."""


class RedirectRefused(urllib.request.HTTPRedirectHandler):
    """A redirect would carry what is meant for one place to another."""

    def redirect_request(self, *words: object) -> None:
        return None


def sign_body(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over the time and the body, so that an old call cannot be played again as a new one."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def call_webhook(url: str, secret: str, delivery: int, timestamp: str, content: Mapping[str, Any]) -> None:
    """Taken by any 2xx. Raises Unavailable, without the address, which may be a secret."""
    body = json.dumps(content, ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "X-Groundcrew-Delivery": str(delivery),
        "X-Groundcrew-Timestamp": timestamp,
        "X-Groundcrew-Signature": f"sha256={sign_body(secret, timestamp, body)}",
    }
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.build_opener(RedirectRefused).open(request, timeout=PATIENCE):
            return
    except urllib.error.HTTPError as error:
        error.close()
        raise Unavailable("webhook.not_taken", error=f"HTTP {error.code}") from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise Unavailable("webhook.not_taken", error=f"{type(reason).__name__}: {reason}"[:300]) from error
    except (HTTPException, ValueError) as error:
        # Of an address that cannot be called these quote it.
        raise Unavailable("webhook.not_taken", error=type(error).__name__) from error
