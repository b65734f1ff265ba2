"""Sets the security headers of every response, above all a Content-Security-Policy without inline script or style."""

from flask import Flask, Response, request

from portal.response_headers import ONLY_BY_HTTPS, SECURITY_HEADERS


def init_app(app: Flask) -> None:
    app.after_request(set_security_headers)


def set_security_headers(response: Response) -> Response:
    """No cache may store the pages of a person; static files have their own max-age."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    for name, value in ONLY_BY_HTTPS.items() if request.is_secure else ():
        response.headers.setdefault(name, value)
    return response
