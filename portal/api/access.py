"""Who calls the API: a bearer token with its scopes; a browser's session is not accepted here."""

from flask import current_app, g, request

from cluster.domain.errors import Forbidden
from cluster.domain.people import Actor
from cluster.services import tokens
from cluster.services.context import Cluster
from cluster.words import say, title
from portal.api.problems import problem
from portal.i18n import current_language

OPEN_PATHS = ("/api/v1/openapi.json",)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def the_cluster() -> Cluster:
    cluster: Cluster = current_app.extensions["cluster"]
    return cluster


def caller() -> Actor:
    """The actor of this request; `require_token` has put it there."""
    actor: Actor = g.api_actor
    return actor


def require_token() -> object:
    """Before every API request: 401 without a living token, 403 where its scopes do not cover the method."""
    if request.path in OPEN_PATHS:
        return None
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    actor = (
        tokens.read_token(the_cluster(), text.strip(), request.remote_addr or "")
        if kind == "Bearer"
        else None
    )
    if actor is None:
        language = current_language()
        answer = problem(
            401, "token.needed", title("token.needed", language), say("token.needed", {}, language)
        )
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer
    g.api_actor = actor
    needed = "read" if request.method in SAFE_METHODS else "write"
    if actor.scopes is not None and needed not in actor.scopes:
        raise Forbidden("token.scope_missing", scope=needed)
    return None
