"""Flask is configured from the settings of the installation: cookies, limits of requests, how long files are kept."""

from flask import Flask

from cluster.portal_paths import form_cookie_name
from cluster.settings import Settings

YEAR_SECONDS = 365 * 24 * 3600


def configure_app(app: Flask, settings: Settings, testing: bool) -> None:
    app.config.update(
        SECRET_KEY=settings.secret_key,
        TESTING=testing,
        # The small signed cookie with messages for the next page and, before sign-in, the secret of forms (csrf.py); a
        # row says who is signed in, see cluster/services/people/sessions.py.
        SESSION_COOKIE_NAME=form_cookie_name(settings.port),
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=settings.public_url.startswith("https://"),
        MAX_CONTENT_LENGTH=settings.upload_limit_bytes,
        MAX_FORM_MEMORY_SIZE=1024 * 1024,
        MAX_FORM_PARTS=1000,
        SEND_FILE_MAX_AGE_DEFAULT=YEAR_SECONDS,
    )
