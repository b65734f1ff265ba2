"""Connects Flask-Login to our session rows by the session cookie."""

from flask import Flask, Request, g, request, session
from flask_login import LoginManager, UserMixin
from werkzeug.wrappers import Response as BaseResponse

from cluster import portal_paths
from cluster.services.people import known_browsers, sessions
from cluster.services.people.sessions import SessionPerson
from portal.web.request_context import current_cluster


class SignedInUser(UserMixin):  # type: ignore[misc]
    """The object that Flask-Login and templates call `current_user`."""

    def __init__(self, person: SessionPerson, token: str) -> None:
        self.token = token
        self.id = person.id
        self.name = person.name
        self.is_administrator = person.is_administrator


def init_app(app: Flask) -> None:
    manager = LoginManager(app)
    manager.request_loader(load_signed_in_user)
    # The row decides when the session ends; Flask-Login's own check would need a cookie of its own.
    manager.session_protection = None


def current_session_cookie() -> str:
    return portal_paths.session_cookie_name(current_cluster().settings.port)


def load_signed_in_user(asking: Request) -> SignedInUser | None:
    token = asking.cookies.get(current_session_cookie(), "")
    if not token or g.get("is_bug"):  # The page about a bug reads no rows.
        return None
    person = sessions.authenticate_session(current_cluster(), token)
    if person is None:
        return None
    g.language, g.theme, g.time_zone = person.language, person.theme, person.time_zone
    return SignedInUser(person, token)


def set_session_cookie(response: BaseResponse, token: str) -> BaseResponse:
    """The cookie ends with the browser; the row decides when the session ends. The next form gets a new CSRF token."""
    session.clear()
    g.new_session_token = token
    response.set_cookie(
        current_session_cookie(),
        token,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure or current_cluster().settings.public_url.startswith("https://"),
    )
    return response


def current_browser_token() -> str:
    return request.cookies.get(portal_paths.browser_cookie_name(current_cluster().settings.port), "")


def set_browser_cookie(response: BaseResponse, token: str) -> BaseResponse:
    """Sets the cookie of a known browser, which is sent to the sign-in page alone and signs nobody in."""
    response.set_cookie(
        portal_paths.browser_cookie_name(current_cluster().settings.port),
        token,
        max_age=known_browsers.KNOWN_FOR,
        path=portal_paths.SIGN_IN,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure or current_cluster().settings.public_url.startswith("https://"),
    )
    return response


def delete_session_cookie(response: BaseResponse) -> BaseResponse:
    session.clear()
    response.delete_cookie(current_session_cookie(), httponly=True, samesite="Lax")
    return response
