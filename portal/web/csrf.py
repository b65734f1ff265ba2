"""Requires the CSRF token of every form."""

from flask import Flask, current_app, request
from flask_wtf.csrf import CSRFProtect

from portal.web.request_context import is_api_request


def init_app(app: Flask) -> None:
    """A form may stay open over night: its token lives as long as the browser's session."""
    app.config.update(WTF_CSRF_TIME_LIMIT=None, WTF_CSRF_CHECK_DEFAULT=False)
    csrf = CSRFProtect(app)
    app.before_request(lambda: check_csrf_token(csrf))


def check_csrf_token(csrf: CSRFProtect) -> None:
    """REST brings a token of its own, never a cookie alone; reports come from the browser itself."""
    if not (is_api_request() or request.endpoint == "health.csp_report" or current_app.testing):
        csrf.protect()
