"""Sets passwords: by a one-time link that an administrator issues, or by the person who knows the old one."""

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.passwords import check_password
from cluster.domain.people.permissions import require_administrator, require_person
from cluster.domain.states import UserState
from cluster.services.context import Cluster
from cluster.services.people import credentials, sign_in_throttle
from cluster.services.people.api_tokens import revoke_all_api_tokens
from cluster.store.audit import add_audit_entry
from cluster.store.users import (
    PASSWORD_LINK,
    OneTimeSecret,
    User,
    add_one_time_secret,
    end_sign_in_sessions,
    find_usable_secret,
    load_user,
    revoke_one_time_secrets,
)

LINK_TERM = timedelta(hours=72)
USERS_LOCK = "users"
"""The lock of every change of users, of their roles and of how they sign in."""


def issue_password_link(cluster: Cluster, actor: Actor, user_id: int) -> str:
    """The secret of a new link for an active user. Earlier links stop working; the password still works."""
    require_person(actor)
    require_administrator(actor)
    now, secret = cluster.clock(), credentials.new_secret()
    with cluster.store.write(lock=USERS_LOCK) as session:
        user = load_user(session, user_id)
        if user.state is not UserState.ACTIVE:
            raise Conflict("user.not_active", name=user.name)
        add_one_time_secret(
            session, PASSWORD_LINK, user.id, credentials.secret_digest(secret), now, LINK_TERM
        )
        add_audit_entry(session, now, actor, "user.link_issued", user.id, name=user.name)
    return secret


def read_link_expiry(cluster: Cluster, actor: Actor, user_id: int) -> datetime | None:
    """Returns the time at which the user's link expires; None if it was used, replaced or has expired, or if there is
    none.
    """
    require_administrator(actor)
    open_links = select(func.max(OneTimeSecret.expires_at)).where(
        OneTimeSecret.kind == PASSWORD_LINK,
        OneTimeSecret.user_id == user_id,
        OneTimeSecret.used_at.is_(None),
        OneTimeSecret.expires_at > cluster.clock(),
    )
    with cluster.store.read() as session:
        return session.scalar(open_links)


def read_password_link(cluster: Cluster, secret: str) -> User:
    """The user of the link. Raises NotFound if it is wrong, used, replaced or expired."""
    with cluster.store.read() as session:
        return load_password_link(session, secret, cluster.clock())[1]


def load_password_link(session: Session, secret: str, now: datetime) -> tuple[OneTimeSecret, User]:
    row = find_usable_secret(session, PASSWORD_LINK, credentials.secret_digest(secret), now)
    user = session.get(User, row.user_id) if row is not None and row.user_id is not None else None
    if row is None or user is None or user.state is not UserState.ACTIVE:
        raise NotFound("link")
    return row, user


def use_password_link(cluster: Cluster, secret: str, password: str, address: str = "") -> User:
    """Sets the password and ends all the user's sessions and API tokens. The link cannot be used again."""
    now = cluster.clock()
    user = read_password_link(cluster, secret)
    check_password(password, user.name, cluster.settings.password_policy)
    password_hash = credentials.hash_password(password)
    with cluster.store.write(lock=USERS_LOCK) as session:
        row, user = load_password_link(session, secret, now)
        row.used_at = now
        user.password_hash = password_hash
        user.password_changed_at = now
        end_sign_in_sessions(session, user.id, now)
        actor = Actor(user.id, user.name, user.is_administrator, address)
        add_audit_entry(session, now, actor, "user.link_used", user.id, name=user.name)
        revoke_all_api_tokens(session, actor, user.id, now, "user.link_used")
    return user


def change_password(cluster: Cluster, actor: Actor, old: str, new: str, keep_token: str = "") -> int:
    """Changes the actor's own password, ends all sessions but that of `keep_token` and all API tokens, and returns
    their number.

    Raises Refused on `old` (`password.old_wrong`, `sign_in.throttled`) or on `password`.
    """
    require_person(actor)
    this_try = sign_in_throttle.record_failed_sign_in(cluster, actor.name, actor.address, "old")
    with cluster.store.read() as session:
        known_hash = load_user(session, actor.user_id).password_hash
    sign_in_throttle.hold_back(this_try)
    if not credentials.is_password(known_hash, old):
        with cluster.store.write() as session:
            add_audit_entry(
                session, cluster.clock(), actor, "user.password_kept", actor.user_id, outcome="refused"
            )
        raise Refused("old", "password.old_wrong")
    with cluster.store.write() as session:
        sign_in_throttle.delete_failed_sign_in(session, this_try.id)
    check_password(new, actor.name, cluster.settings.password_policy)
    if credentials.is_password(known_hash, new):
        raise Refused("password", "password.unchanged")
    password_hash, now = credentials.hash_password(new), cluster.clock()
    with cluster.store.write() as session:
        user = load_user(session, actor.user_id)
        user.password_hash = password_hash
        user.password_changed_at = now
        revoke_one_time_secrets(session, PASSWORD_LINK, user.id, now)
        end_sign_in_sessions(session, user.id, now, credentials.secret_digest(keep_token))
        add_audit_entry(session, now, actor, "user.password_changed", user.id, name=user.name)
        return revoke_all_api_tokens(session, actor, user.id, now, "user.password_changed")
