"""Sets the language and the theme of a person, by a cookie and in the row of a signed-in user."""

from __future__ import annotations

from flask import Blueprint, redirect, request
from flask_login import current_user
from werkzeug.wrappers import Response

from cluster.services.people import preferences
from portal.after_sign_in import local_path
from portal.i18n.translate import LANGUAGE_COOKIE, LANGUAGES
from portal.layout.theme import THEME_COOKIE, THEMES
from portal.web.request_context import current_actor, current_cluster

YEAR_SECONDS = 365 * 86400

blueprint = Blueprint("preferences", __name__)


@blueprint.post("/language")
def set_language() -> Response:
    """Sets ko or en and redirects to `next`."""
    return _set_preference("language", LANGUAGES, LANGUAGE_COOKIE)


@blueprint.post("/theme")
def set_theme() -> Response:
    """Sets light or dark and redirects to `next`."""
    return _set_preference("theme", THEMES, THEME_COOKIE)


def _set_preference(name: str, allowed: tuple[str, ...], cookie: str) -> Response:
    """An unknown value changes nothing."""
    value = request.form.get(name, "")
    response = redirect(local_path(request.form.get("next", "/")).rstrip("?"), 303)
    if value in allowed:
        response.set_cookie(
            cookie, value, max_age=YEAR_SECONDS, httponly=True, samesite="Lax", secure=request.is_secure
        )
        if current_user.is_authenticated:
            preferences.set_preferences(current_cluster(), current_actor(), **{name: value})
    return response
