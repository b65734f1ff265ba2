"""Signed-in browsers: a row each, so that time, the person or an administrator can end them."""

from datetime import datetime, timedelta
from typing import NoReturn

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound, Refused
from cluster.domain.people import Actor
from cluster.domain.states import UserState
from cluster.services import tries
from cluster.services.context import Cluster
from cluster.services.credentials import digest, hash_password, is_outdated, is_password, new_secret
from cluster.store.audit import write_entry
from cluster.store.engine import unless_disk_full
from cluster.store.users import SignInSession, User, end_sessions, find_user, load_user

IDLE_LIMIT = timedelta(hours=12)
ABSOLUTE_LIMIT = timedelta(days=7)
TOUCH_EVERY = timedelta(minutes=1)
KEPT_FOR = tries.KNOWN_FOR
"""How long the row of an ended session stays; see `tries.is_at_home`."""


def sign_in(
    cluster: Cluster, name: str, password: str, address: str, browser: str, request_id: str = ""
) -> str:
    """Returns the new session's token. Raises Refused `sign_in.wrong` or `sign_in.throttled` (minutes).

    Wrong passwords, unknown, disabled and service users all look the same, in words and in time.
    """
    try_id, locks = tries.take_try(cluster, name, address, field="name")
    with cluster.store.read() as session:
        user = find_user(session, name)
    known_hash = user.password_hash if user and user.state is UserState.ACTIVE else None
    is_right = is_password(known_hash, password)
    if user is None or known_hash is None or not is_right:
        refuse(cluster, user, address, request_id, locks)
    new_hash = hash_password(password) if is_outdated(known_hash) else None
    with cluster.store.write() as session:
        tries.forget_try(session, try_id)
        unchanged = select(User).where(
            User.id == user.id, User.state == UserState.ACTIVE, User.password_hash == known_hash
        )
        # Disabled or with another password since it was read: as if it had been wrong.
        current = session.scalar(unchanged.with_for_update())
        if current is None:
            raise Refused("password", "sign_in.wrong")
        if new_hash is not None:
            current.password_hash = new_hash
        return add_session(cluster, session, current, address, browser, request_id)


def refuse(cluster: Cluster, user: User | None, address: str, request_id: str, locks: bool) -> NoReturn:
    """The typed name is written down only where it is a user's: others may be mistyped passwords."""
    now, user_id = cluster.clock(), user.id if user else None
    actor = Actor(0, user.name if user else "", address=address, request_id=request_id)
    with cluster.store.write() as session:
        write_entry(session, now, actor, "session.refused", user_id, outcome="refused")
        if locks:
            write_entry(session, now, actor, "session.locked", user_id, outcome="refused")
    raise Refused("password", "sign_in.wrong")


def begin_session(cluster: Cluster, user_id: int, address: str, browser: str, request_id: str = "") -> str:
    """For who has just proved it otherwise: by the first administrator's secret or a one-time link."""
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
        token_hash=digest(token),
        user_id=user.id,
        created_at=now,
        seen_at=now,
        expires_at=now + ABSOLUTE_LIMIT,
        address=address[:64],
        browser="".join(c for c in browser if c.isprintable())[:200],
    )
    session.add(row)
    session.execute(delete(SignInSession).where(SignInSession.created_at < now - KEPT_FOR))
    session.flush()
    actor = Actor(user.id, user.name, user.is_administrator, address, request_id)
    write_entry(session, now, actor, "session.begun", row.id)
    return token


def read_session(cluster: Cluster, token: str) -> User | None:
    """The person behind the cookie; None once the session has ended. Notes the time once a minute."""
    row = find_session(cluster, token)
    if row is None:
        return None
    now = cluster.clock()
    if now - row.seen_at >= TOUCH_EVERY:
        with unless_disk_full(cluster.store), cluster.store.write() as session:
            session.execute(update(SignInSession).where(SignInSession.id == row.id).values(seen_at=now))
    return row.user


def find_session(cluster: Cluster, token: str) -> SignInSession | None:
    """The living session of this token, with its user; marks the present one in a list."""
    now = cluster.clock()
    query = (
        select(SignInSession)
        .join(SignInSession.user)
        .where(SignInSession.token_hash == digest(token), *living(now))
        .where(User.state == UserState.ACTIVE)
        .options(joinedload(SignInSession.user))
    )
    with cluster.store.read() as session:
        return session.scalar(query)


def living(now: datetime) -> tuple[ColumnElement[bool], ...]:
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
        .where(SignInSession.user_id == actor.user_id, *living(cluster.clock()))
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
            write_entry(session, now, actor, "session.ended", row.id)


def end_other_sessions(cluster: Cluster, actor: Actor, token: str) -> None:
    """All of one's own but the one with this token."""
    now = cluster.clock()
    with cluster.store.write() as session:
        end_sessions(session, actor.user_id, now, keep_token_hash=digest(token))
        write_entry(session, now, actor, "session.others_ended", None)
