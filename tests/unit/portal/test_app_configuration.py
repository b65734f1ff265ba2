"""The portal's configuration follows the address by which the installation is reached."""

from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from portal.app_configuration import configure_app
from tests.conftest import settings_for


@pytest.mark.parametrize(("url", "is_secure"), [("http://127.0.0.1:8470", False), ("https://gpu.lab", True)])
def test_cookies_are_secure_where_the_portal_is_reached_by_https(
    tmp_path: Path, url: str, is_secure: bool
) -> None:
    settings = replace(settings_for("sqlite://", tmp_path), public_url=url, upload_limit_bytes=7)
    app = Flask("a portal")
    configure_app(app, settings, testing=True)
    assert app.config["SESSION_COOKIE_SECURE"] is is_secure
    assert app.config["SESSION_COOKIE_HTTPONLY"] and app.config["SESSION_COOKIE_SAMESITE"] == "Lax"
    assert (app.config["MAX_CONTENT_LENGTH"], app.testing) == (7, True)
