"""Connects Flask-Login to our session rows by the session cookie."""

from flask import Flask, Request, g, request, session
from flask_login import LoginManager, UserMixin
from werkzeug.wrappers import Response as BaseResponse

from cluster import portal_paths
from cluster.services.people import sessions
from cluster.store.users import User
from portal.web.request_context import current_cluster


class SignedInUser(UserMixin):  # type: ignore[misc]
    """What Flask-Login and templates call `current_user`."""

    def __init__(self, user: User, token: str) -> None:
        self.user = user
        self.token = token
        self.id = user.id
        self.name = user.name
        self.full_name = user.full_name
        self.is_administrator = user.is_administrator

    @property
    def initials(self) -> str:
        return self.name[:2].upper()


def init_app(app: Flask) -> None:
    manager = LoginManager(app)
    manager.request_loader(load_signed_in_user)
    # The row already ends with its time, its role or its user; Flask-Login's own check would need its cookie.
    manager.session_protection = None


def current_session_cookie() -> str:
    return portal_paths.session_cookie_name(current_cluster().settings.port)


def load_signed_in_user(asking: Request) -> SignedInUser | None:
    token = asking.cookies.get(current_session_cookie(), "")
    if not token or g.get("is_bug"):  # The page about a bug reads no rows.
        return None
    user = sessions.authenticate_session(current_cluster(), token)
    if user is None:
        return None
    g.language, g.theme = user.language, user.theme
    return SignedInUser(user, token)


def set_session_cookie(response: BaseResponse, token: str) -> BaseResponse:
    """The cookie lives as long as the browser; the row decides when it ends. The next form gets a new CSRF token."""
    session.clear()
    response.set_cookie(
        current_session_cookie(),
        token,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure or current_cluster().settings.public_url.startswith("https://"),
    )
    return response


def delete_session_cookie(response: BaseResponse) -> BaseResponse:
    session.clear()
    response.delete_cookie(current_session_cookie(), httponly=True, samesite="Lax")
    return response


def local_path(target: str) -> str:
    """The target if it is a path of this portal, else the dashboard: no redirect leads to another host."""
    is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_path and target.isprintable() and "\\" not in target else "/"
