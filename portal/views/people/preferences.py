"""Sets the language and the theme of a person, by a cookie and in the row of a signed-in user."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from portal.i18n.translate import LANGUAGE_COOKIE, LANGUAGES
from portal.layout.theme import THEME_COOKIE, THEMES, remember

YEAR_SECONDS = 365 * 86400

blueprint = Blueprint("look", __name__)


@blueprint.post("/language")
def set_language() -> Response:
    """Remembers ko or en and goes back."""
    return _set_preference("language", LANGUAGES, LANGUAGE_COOKIE)


@blueprint.post("/theme")
def set_theme() -> Response:
    """Remembers light or dark and goes back."""
    return _set_preference("theme", THEMES, THEME_COOKIE)


def _set_preference(name: str, allowed: tuple[str, ...], cookie: str) -> Response:
    """An unknown value changes nothing."""
    value = request.form.get(name, "")
    response = redirect(local_path(request.form.get("next", "/")), 303)
    if value in allowed:
        response.set_cookie(
            cookie, value, max_age=YEAR_SECONDS, httponly=True, samesite="Lax", secure=request.is_secure
        )
        remember(name, value)
    return response


def local_path(target: str) -> str:
    """A path of this site to go back to, else "/": never another host."""
    parts = urlsplit(target)
    is_path = target.startswith("/") and not target.startswith("//") and not (parts.scheme or parts.netloc)
    return target.rstrip("?") if is_path and target.isprintable() and "\\" not in target else "/"
