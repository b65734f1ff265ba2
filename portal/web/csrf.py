"""Requires the CSRF token of every form.

The token is a digest of the browser's session (before sign-in: of a secret in the signed form cookie). Each answer
contains it masked by new random bytes, so that the length of compressed answers reveals nothing of it (BREACH). See
docs/decisions/2026-11-23-csrf-tokens-are-masked-in-each-answer.md.
"""

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import urlsplit

from flask import Flask, current_app, g, request, session

from portal.rendering.answer_marks import add_mark
from portal.web.request_context import is_api_request
from portal.web.session_cookie import current_session_cookie

TOKEN_BYTES = 16
FORM_SECRET = "form"
WRITING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class CsrfTokenInvalid(Exception):
    """The form was made for another session, or elsewhere."""


def init_app(app: Flask) -> None:
    """Checks every form. A token lives as long as the browser's session, so a form may stay open over night."""
    add_mark(app, "csrf_token", new_csrf_token)
    app.before_request(check_csrf_token)


def check_csrf_token() -> None:
    """Checks the token of a form. REST requests have an API token instead, and reports come from the browser itself."""
    if request.method not in WRITING_METHODS or is_api_request() or current_app.testing:
        return
    if request.endpoint == "health.csp_report":
        return
    secret = request_secret()
    sent = request.form.get("csrf_token") or request.headers.get("X-CSRFToken", "")
    if secret is None or not hmac.compare_digest(unmask_token(sent), csrf_token_of(secret)):
        raise CsrfTokenInvalid
    if request.is_secure and not is_from_this_site(request.referrer or ""):
        raise CsrfTokenInvalid


def is_from_this_site(referrer: str) -> bool:
    """Over TLS the browser has to name one of our pages as the source, which a page over plain HTTP cannot."""
    page = urlsplit(referrer)
    return page.scheme == "https" and page.netloc == request.host


def new_csrf_token() -> str:
    secret = request_secret()
    if secret is None:
        session[FORM_SECRET] = secrets.token_hex(TOKEN_BYTES)
        secret = request_secret()
        assert secret is not None
    return mask_token(csrf_token_of(secret))


def request_secret() -> bytes | None:
    """The value that the browser sends and no other site can read; None before its first form."""
    cookie = g.get("new_session_token") or request.cookies.get(current_session_cookie())
    if cookie:
        return b"session " + cookie.encode()
    secret = session.get(FORM_SECRET)
    return b"form " + str(secret).encode() if secret else None


def csrf_token_of(secret: bytes) -> bytes:
    key = str(current_app.secret_key).encode()
    return hmac.digest(key, b"csrf " + secret, "sha256")[:TOKEN_BYTES]


def mask_token(token: bytes) -> str:
    mask = secrets.token_bytes(TOKEN_BYTES)
    return urlsafe_b64encode(mask + exclusive_or(mask, token)).decode()


def unmask_token(text: str) -> bytes:
    """The token without its mask; empty if the text is no masked token."""
    try:
        both = urlsafe_b64decode(text.encode("ascii"))
    except ValueError:
        return b""
    if len(both) != 2 * TOKEN_BYTES:
        return b""
    return exclusive_or(both[:TOKEN_BYTES], both[TOKEN_BYTES:])


def exclusive_or(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(len(one))
