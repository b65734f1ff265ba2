"""Sign-in sessions: one row per browser, so that time, the person or an administrator can end each of them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn

from sqlalchemy import ColumnElement, bindparam, delete, select, update
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import UserRole, UserState
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
from cluster.store.sql.disk_full import ignoring_disk_full
from cluster.store.users import SignInSession, User, end_sign_in_sessions, find_user, load_user

IDLE_LIMIT = timedelta(hours=12)
ABSOLUTE_LIMIT = timedelta(days=7)
TOUCH_EVERY = timedelta(minutes=1)
ROWS_KEPT_FOR = sign_in_throttle.ADDRESS_KNOWN_FOR
"""The time for which the row of an ended session is kept."""


@dataclass(frozen=True)
class SignedInPerson:
    """The person of a session that has not ended; `language` is None if the person has chosen none."""

    user_id: int
    name: str
    is_administrator: bool
    language: str | None


def sign_in(
    cluster: Cluster,
    name: str,
    password: str,
    address: str,
    browser: str,
    request_id: str = "",
    browser_token: str = "",
) -> str:
    """Returns the new session's token. Raises Refused `sign_in.wrong` or `sign_in.throttled` (minutes).

    `browser_token` is what `issue_browser_token` gave this browser. Wrong passwords and unknown, disabled and service
    users get the same answer after the same time.
    """
    this_try = sign_in_throttle.record_failed_sign_in(cluster, name, address, "name", browser_token)
    with cluster.store.read() as session:
        user = find_user(session, name)
    known_hash = user.password_hash if user and user.state is UserState.ACTIVE else None
    sign_in_throttle.hold_back(this_try)
    is_right = is_password(known_hash, password)
    if user is None or known_hash is None or not is_right:
        refuse_sign_in(cluster, user, address, request_id, this_try.locks)
    new_hash = hash_password(password) if needs_rehash(known_hash) else None
    with cluster.store.write() as session:
        sign_in_throttle.delete_failed_sign_in(session, this_try.id)
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
    """Records the refusal, whose object is the user: there is no session. The typed name is recorded only if it is a
    user's, because others may be mistyped passwords.
    """
    now, user_id = cluster.clock(), user.id if user else None
    actor = Actor(0, user.name if user else "", address=address, request_id=request_id)
    actions = ["session.refused", "session.locked"] if locks else ["session.refused"]
    with cluster.store.write() as session:
        for action in actions:
            add_audit_entry(session, now, actor, action, user_id, outcome="refused", object_kind="user")
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


@dataclass(frozen=True)
class SessionPerson:
    """The signed-in person: the columns of session and person that every request needs."""

    session_id: int
    seen_at: datetime
    id: int
    name: str
    role: UserRole
    language: str | None
    theme: str | None
    time_zone: str | None

    @property
    def is_administrator(self) -> bool:
        return self.role is UserRole.ADMINISTRATOR


def authenticate_session(cluster: Cluster, token: str) -> SessionPerson | None:
    """Returns the person of the cookie; None once the session has ended. Records the time of use once a minute. Every
    request calls it, so that an ended session, a changed role or a disabled person counts at once.
    """
    now = cluster.clock()
    asked = {"token_hash": secret_digest(token), "now": now, "idle_since": now - IDLE_LIMIT}
    with cluster.store.read_columns() as connection:
        row = connection.execute(SESSION_PERSON, asked).one_or_none()
    if row is None:
        return None
    person = SessionPerson(*row)
    if now - person.seen_at >= TOUCH_EVERY:
        with ignoring_disk_full(cluster.store), cluster.store.write() as session:
            touched = update(SignInSession).where(SignInSession.id == person.session_id)
            session.execute(touched.values(seen_at=now))
    return person


def find_session(cluster: Cluster, token: str) -> SignInSession | None:
    """The valid session of this token, with its user, so that a list can mark the current one."""
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


def read_signed_in_people(cluster: Cluster, tokens: Collection[str]) -> dict[str, SignedInPerson]:
    """Returns token → person for the sessions that have not ended, by the same rule as `find_session`. It takes one
    statement for all tokens.
    """
    token_by_digest = {secret_digest(token): token for token in tokens}
    query = (
        select(SignInSession.token_hash, User.id, User.name, User.role, User.language)
        .join(SignInSession.user)
        .where(SignInSession.token_hash.in_(token_by_digest), *is_live_session(cluster.clock()))
        .where(User.state == UserState.ACTIVE)
    )
    with cluster.store.read() as session:
        return {
            token_by_digest[digest]: SignedInPerson(user_id, name, role is UserRole.ADMINISTRATOR, language)
            for digest, user_id, name, role, language in session.execute(query)
        }


def is_live_session(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return is_live_between(now, now - IDLE_LIMIT)


def is_live_between(
    now: datetime | ColumnElement[datetime], idle_since: datetime | ColumnElement[datetime]
) -> tuple[ColumnElement[bool], ...]:
    return (
        SignInSession.ended_at.is_(None),
        SignInSession.expires_at > now,
        SignInSession.seen_at > idle_since,
    )


SESSION_PERSON = (
    select(
        SignInSession.id,
        SignInSession.seen_at,
        User.id.label("user_id"),
        User.name,
        User.role,
        User.language,
        User.theme,
        User.time_zone,
    )
    .join(SignInSession.user)
    .where(
        SignInSession.token_hash == bindparam("token_hash"),
        *is_live_between(
            bindparam("now", type_=SignInSession.expires_at.type),
            bindparam("idle_since", type_=SignInSession.seen_at.type),
        ),
        User.state == UserState.ACTIVE,
    )
)
"""The statement is built once, because building it takes longer than executing it."""


def sign_out(cluster: Cluster, token: str) -> None:
    """Ends the session. The call can be repeated."""
    row = find_session(cluster, token)
    if row is not None:
        actor = Actor(row.user.id, row.user.name, row.user.is_administrator, row.address)
        end_session(cluster, actor, row.id)


def list_sessions(cluster: Cluster, actor: Actor) -> list[SignInSession]:
    """The actor's own valid sessions, the last used one first."""
    query = (
        select(SignInSession)
        .where(SignInSession.user_id == actor.user_id, *is_live_session(cluster.clock()))
        .order_by(SignInSession.seen_at.desc(), SignInSession.id.desc())
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def end_session(cluster: Cluster, actor: Actor, session_id: int) -> None:
    """Ends one of the actor's own sessions. Raises NotFound."""
    now = cluster.clock()
    with cluster.store.write() as session:
        row = session.get(SignInSession, session_id) if 0 < session_id < 2**31 else None
        if row is None or row.user_id != actor.user_id:
            raise NotFound("session", session_id)
        if row.ended_at is None:
            row.ended_at = now
            add_audit_entry(session, now, actor, "session.ended", row.id)


def end_other_sessions(cluster: Cluster, actor: Actor, token: str) -> None:
    """Ends all sessions of the actor but the one with this token."""
    now = cluster.clock()
    with cluster.store.write() as session:
        end_sign_in_sessions(session, actor.user_id, now, keep_token_hash=secret_digest(token))
        add_audit_entry(session, now, actor, "session.others_ended", None)
