"""Browsers in which a person has signed in before, by a cookie that only this installation can make.

The cookie proves only that and signs nobody in. It becomes invalid when the person's password changes.
"""

import secrets
from datetime import UTC, datetime, timedelta

from cluster.domain.states import UserState
from cluster.services.context import Cluster
from cluster.services.people.credentials import is_same_digest, keyed_digest, secret_digest
from cluster.store.users import User, find_user

KNOWN_FOR = timedelta(days=180)
LONGEST_TOKEN = 200


def issue_browser_token(cluster: Cluster, name: str) -> str:
    """Returns `<seconds>.<random>.<digest>` after a sign-in; empty if the user was deleted meanwhile."""
    with cluster.store.read() as session:
        user = find_user(session, name)
    if user is None or user.password_hash is None:
        return ""
    issued = f"{int(cluster.clock().timestamp())}.{secrets.token_hex(16)}"
    return f"{issued}.{sign(cluster, user, issued)}"


def is_known_browser(cluster: Cluster, user: User | None, token: str) -> bool:
    """Whether this token was issued to this person for their present password, and not too long ago."""
    issued, _, digest = token.rpartition(".")
    seconds = issued.partition(".")[0]
    is_formed = len(token) <= LONGEST_TOKEN and token.isascii() and seconds.isdigit() and len(seconds) <= 12
    if user is None or user.password_hash is None or user.state is not UserState.ACTIVE or not is_formed:
        return False
    at = datetime.fromtimestamp(int(seconds), UTC)
    return is_same_digest(digest, sign(cluster, user, issued)) and cluster.clock() - at < KNOWN_FOR


def sign(cluster: Cluster, user: User, issued: str) -> str:
    return keyed_digest(cluster.settings.secret_key, f"browser {user.id} {issued} {user.password_hash}")


def browser_place(token: str) -> str:
    """Returns the name under which failed tries in this browser are counted, instead of their address."""
    return f"browser:{secret_digest(token)[:48]}"
