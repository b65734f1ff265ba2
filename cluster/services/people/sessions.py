"""Sign-in sessions: one row per browser, so that time, the person or an administrator can end each of them."""

from datetime import datetime, timedelta
from typing import NoReturn

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import UserState
from cluster.services.context import Cluster
from cluster.services.people import sign_in_throttle
from cluster.services.people.credentials import (
    hash_password,
    is_password,
    needs_rehash,
    new_secret,
    secret_digest,
)
from cluster.store.audit import add_audit_entry
from cluster.store.disk_full import ignoring_disk_full
from cluster.store.users import SignInSession, User, end_sign_in_sessions, find_user, load_user

IDLE_LIMIT = timedelta(hours=12)
ABSOLUTE_LIMIT = timedelta(days=7)
TOUCH_EVERY = timedelta(minutes=1)
ROWS_KEPT_FOR = sign_in_throttle.ADDRESS_KNOWN_FOR
"""How long the row of an ended session stays; see `tries.is_known_address`."""


def sign_in(
    cluster: Cluster, name: str, password: str, address: str, browser: str, request_id: str = ""
) -> str:
    """Returns the new session's token. Raises Refused `sign_in.wrong` or `sign_in.throttled` (minutes).

    Wrong passwords, unknown, disabled and service users all look the same, in words and in time.
    """
    try_id, locks = sign_in_throttle.record_failed_sign_in(cluster, name, address, field="name")
    with cluster.store.read() as session:
        user = find_user(session, name)
    known_hash = user.password_hash if user and user.state is UserState.ACTIVE else None
    is_right = is_password(known_hash, password)
    if user is None or known_hash is None or not is_right:
        refuse_sign_in(cluster, user, address, request_id, locks)
    new_hash = hash_password(password) if needs_rehash(known_hash) else None
    with cluster.store.write() as session:
        sign_in_throttle.delete_failed_sign_in(session, try_id)
        unchanged = select(User).where(
            User.id == user.id, User.state == UserState.ACTIVE, User.password_hash == known_hash
        )
        # If the user was disabled or changed the password meanwhile, the sign-in fails like a wrong password.
        current = session.scalar(unchanged.with_for_update())
        if current is None:
            raise Refused("password", "sign_in.wrong")
        if new_hash is not None:
            current.password_hash = new_hash
        return add_session(cluster, session, current, address, browser, request_id)


def refuse_sign_in(
    cluster: Cluster, user: User | None, address: str, request_id: str, locks: bool
) -> NoReturn:
    """The typed name is written down only where it is a user's: others may be mistyped passwords."""
    now, user_id = cluster.clock(), user.id if user else None
    actor = Actor(0, user.name if user else "", address=address, request_id=request_id)
    with cluster.store.write() as session:
        add_audit_entry(session, now, actor, "session.refused", user_id, outcome="refused")
        if locks:
            add_audit_entry(session, now, actor, "session.locked", user_id, outcome="refused")
    raise Refused("password", "sign_in.wrong")


def begin_session(cluster: Cluster, user_id: int, address: str, browser: str, request_id: str = "") -> str:
    """Begins a session without a password, for a person who has just used the first administrator's secret or a
    one-time link."""
    with cluster.store.write() as session:
        user = load_user(session, user_id)
        if user.state is not UserState.ACTIVE:
            raise NotFound("user", user_id)
        return add_session(cluster, session, user, address, browser, request_id)


def add_session(
    cluster: Cluster, session: Session, user: User, address: str, browser: str, request_id: str
) -> str:
    now, token = cluster.clock(), new_secret()
    row = SignInSession(
        token_hash=secret_digest(token),
        user_id=user.id,
        created_at=now,
        seen_at=now,
        expires_at=now + ABSOLUTE_LIMIT,
        address=address[:64],
        browser="".join(c for c in browser if c.isprintable())[:200],
    )
    session.add(row)
    session.execute(delete(SignInSession).where(SignInSession.created_at < now - ROWS_KEPT_FOR))
    session.flush()
    actor = Actor(user.id, user.name, user.is_administrator, address, request_id)
    add_audit_entry(session, now, actor, "session.begun", row.id)
    return token


def authenticate_session(cluster: Cluster, token: str) -> User | None:
    """The person behind the cookie; None once the session has ended. Notes the time once a minute."""
    row = find_session(cluster, token)
    if row is None:
        return None
    now = cluster.clock()
    if now - row.seen_at >= TOUCH_EVERY:
        with ignoring_disk_full(cluster.store), cluster.store.write() as session:
            session.execute(update(SignInSession).where(SignInSession.id == row.id).values(seen_at=now))
    return row.user


def find_session(cluster: Cluster, token: str) -> SignInSession | None:
    """The living session of this token, with its user; marks the present one in a list."""
    now = cluster.clock()
    query = (
        select(SignInSession)
        .join(SignInSession.user)
        .where(SignInSession.token_hash == secret_digest(token), *is_live_session(now))
        .where(User.state == UserState.ACTIVE)
        .options(joinedload(SignInSession.user))
    )
    with cluster.store.read() as session:
        return session.scalar(query)


def is_live_session(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        SignInSession.ended_at.is_(None),
        SignInSession.expires_at > now,
        SignInSession.seen_at > now - IDLE_LIMIT,
    )


def sign_out(cluster: Cluster, token: str) -> None:
    """Safe to repeat."""
    row = find_session(cluster, token)
    if row is not None:
        actor = Actor(row.user.id, row.user.name, row.user.is_administrator, row.address)
        end_session(cluster, actor, row.id)


def list_sessions(cluster: Cluster, actor: Actor) -> list[SignInSession]:
    """The person's own living ones, the one used last first."""
    query = (
        select(SignInSession)
        .where(SignInSession.user_id == actor.user_id, *is_live_session(cluster.clock()))
        .order_by(SignInSession.seen_at.desc(), SignInSession.id.desc())
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def end_session(cluster: Cluster, actor: Actor, session_id: int) -> None:
    """One's own only; raises NotFound."""
    now = cluster.clock()
    with cluster.store.write() as session:
        row = session.get(SignInSession, session_id) if 0 < session_id < 2**31 else None
        if row is None or row.user_id != actor.user_id:
            raise NotFound("session", session_id)
        if row.ended_at is None:
            row.ended_at = now
            add_audit_entry(session, now, actor, "session.ended", row.id)


def end_other_sessions(cluster: Cluster, actor: Actor, token: str) -> None:
    """All of one's own but the one with this token."""
    now = cluster.clock()
    with cluster.store.write() as session:
        end_sign_in_sessions(session, actor.user_id, now, keep_token_hash=secret_digest(token))
        add_audit_entry(session, now, actor, "session.others_ended", None)
