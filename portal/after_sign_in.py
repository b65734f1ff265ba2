"""The return after signing in: a page of this portal, or a form that was sent after the session had ended. The
sign-in page keeps the form's fields until they can be sent again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import current_app, request
from werkzeug.exceptions import HTTPException

PREFIX = "kept."
"""The prefix of the kept fields in the form of the sign-in page."""
ACTION, BACK = "kept_action", "kept_back"
MAX_BYTES = 16 * 1024
"""The limit for a form that is kept. With its names it has to pass through the sign-in form, which is open to anyone.
"""
NEVER_SHOWN = frozenset({"version", "way", "kind"})
"""The form's own fields, which are not kept."""
NEVER_KEPT = frozenset({"password", "old", "secret"})
"""A form with one of these fields is not kept, so that no page shows a password again."""


def local_path(target: str) -> str:
    """The target if it is a path of this portal, else the dashboard: no redirect leads to another host."""
    is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_path and target.isprintable() and "\\" not in target else "/"


@dataclass(frozen=True)
class KeptForm:
    """A kept form. `action` is its target, `back` the page on which it was filled in."""

    action: str
    back: str
    fields: tuple[tuple[str, str], ...]

    @property
    def typed(self) -> dict[str, str]:
        """The filled-in values by field; the values of ticked boxes are in one line."""
        names = dict.fromkeys(name for name, value in self.fields if value and name not in NEVER_SHOWN)
        return {
            name: ", ".join(value for other, value in self.fields if other == name and value)
            for name in names
        }


def keep_sent_form() -> KeptForm | None:
    """The form of this request; None if there is nothing to keep, or if another site may have sent it."""
    if request.method != "POST" or (request.content_length or 0) > MAX_BYTES or not is_sent_by_own_page():
        return None
    if request.mimetype != "application/x-www-form-urlencoded" or NEVER_KEPT & set(request.form):
        return None
    fields = fields_of(request.form.items(multi=True))
    return KeptForm(request.path, form_page(), fields) if fields else None


def read_kept_form() -> KeptForm | None:
    """The form that the sign-in page has kept."""
    action = local_path(request.form.get(ACTION, ""))
    if action == "/":
        return None
    kept = ((name, value) for name, value in request.form.items(multi=True) if name.startswith(PREFIX))
    return KeptForm(
        action,
        local_path(request.form.get(BACK, "")),
        fields_of((name.removeprefix(PREFIX), value) for name, value in kept),
    )


def kept_field_names() -> list[str]:
    """The names that the form of the sign-in page has besides its own."""
    return [ACTION, BACK, *(name for name in request.form if name.startswith(PREFIX))]


def fields_of(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in pairs if name != "csrf_token")


def is_sent_by_own_page() -> bool:
    """Every browser names the origin of a POST. The CSRF token proves nothing here, because its session has ended."""
    return request.headers.get("Origin") == request.host_url.rstrip("/")


def form_page() -> str:
    """The page from which the request came, as a path of this portal; "/" if no page can be opened there."""
    came_from = urlsplit(request.referrer or "")
    if came_from.netloc == request.host:
        return local_path(came_from.path + (f"?{came_from.query}" if came_from.query else ""))
    try:
        current_app.url_map.bind("").match(request.path, method="GET")
    except HTTPException:
        return "/"
    return request.path
