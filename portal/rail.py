"""The rail of the current request: where the person may go, and what is remembered about their taste."""

import socket
from urllib.parse import urlsplit

from flask import g, request, url_for
from flask_login import current_user

from portal.current import current_actor, current_cluster
from portal.shell import Person, Shell, administrator_rail, workspace_rail


def shell() -> Shell:
    """Before sign-in only the place and the version."""
    cluster = current_cluster()
    bare = Shell(place=place(), version=cluster.settings.version)
    if not current_user.is_authenticated:
        return bare
    groups = (
        administrator_rail(request.path)
        if current_actor().is_administrator
        else workspace_rail(request.path, None)
    )
    return Shell(
        place=bare.place,
        version=bare.version,
        groups=groups,
        user=Person(current_user.name),
        live=True,
        topics=("jobs", "queue", "nodes", "operations"),
        sign_out=url_for("sign_in.sign_out"),
    )


def place() -> str:
    """What people call this installation: the host of its public address, or the machine's own name."""
    host = urlsplit(current_cluster().settings.public_url).hostname or ""
    return host if host not in ("", "127.0.0.1", "localhost", "::1") else socket.gethostname()


def remember(name: str, value: str) -> None:
    """Keeps a choice of language or theme in the person's row."""
    if current_user.is_authenticated:
        g.pop(name, None)
