"""The context of a request: the cluster behind the portal, the acting person, the client, and reads cached per
request."""

from collections.abc import Callable
from typing import TypeVar

from flask import g, request
from flask_login import current_user

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from portal.recent_values import recent_values
from portal.shared_objects import shared_object

Shown = TypeVar("Shown")


def current_cluster() -> Cluster:
    return shared_object(Cluster)


def current_actor() -> Actor:
    """The person of the session, or of the token if the request came to /api. Views call it after the guard has let
    the request in.
    """
    stored: Actor | None = g.get("actor")
    if stored is not None:
        return stored
    user = current_user
    g.actor = actor = Actor(
        user_id=user.id,
        name=user.name,
        is_administrator=user.is_administrator,
        address=client_address(),
        request_id=current_request_id(),
    )
    return actor


def read_once(read: Callable[[Cluster, Actor], Shown]) -> Shown:
    """A service's list for this person, read once per request: page, alert panel and navigation show the same."""
    results: dict[object, Shown] = g.setdefault("read", {})
    if read not in results:
        results[read] = read(current_cluster(), current_actor())
    return results[read]


def read_recently(read: Callable[[Cluster, Actor], Shown]) -> Shown:
    """Calls `read_once`, unless this process has read the same for the person within the last second."""
    if read in g.get("read", {}):
        return read_once(read)
    cluster, actor = current_cluster(), current_actor()
    return recent_values().read(actor.user_id, (read, actor.is_administrator), lambda: read(cluster, actor))


def anonymous_actor(name: str = "") -> Actor:
    """The actor of an audit entry written before anybody has signed in."""
    return Actor(user_id=0, name=name, address=client_address(), request_id=current_request_id())


def client_address() -> str:
    return request.remote_addr or ""


def client_user_agent() -> str:
    """The User-Agent of the request, for the list of sessions."""
    return request.headers.get("User-Agent", "")[:200]


def current_request_id() -> str:
    return str(g.get("request_id", ""))


def is_api_request() -> bool:
    return request.path.startswith("/api/")


def is_fragment_request() -> bool:
    """Whether htmx asks for a fragment of the page. A step back in the browser's history needs the whole page."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers
