"""The headers of every response, of the pages and of the event streams. This module uses no framework."""

import re
import uuid

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "report-uri /csp-report",
    ]
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
ONLY_BY_HTTPS = {"Strict-Transport-Security": "max-age=31536000"}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


def secure_headers(is_https: bool) -> dict[str, str]:
    """The headers of a response that belongs to a person: no cache may store it."""
    return {**SECURITY_HEADERS, "Cache-Control": "no-store", **(ONLY_BY_HTTPS if is_https else {})}


def choose_request_id(given: str) -> str:
    """A well-formed request id of a proxy is used, so that its log and ours can be joined."""
    return given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex[:16]
