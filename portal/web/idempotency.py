"""Reads the Idempotency-Key of a request."""

import hashlib

from flask import request

from cluster.domain.errors import Refused

LONGEST_KEY = 100


def read_idempotency_key() -> tuple[str, str] | None:
    """The Idempotency-Key and the hash of address and body; raises Refused for a key that no client would make."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not key.isascii() or not key.isprintable() or not 1 <= len(key) <= LONGEST_KEY:
        raise Refused("Idempotency-Key", "idempotency.bad_key", most=LONGEST_KEY)
    return key, hashlib.sha256(request.path.encode() + b"\0" + request.get_data()).hexdigest()
