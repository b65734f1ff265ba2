"""Rows of users, sessions, tokens, one-time secrets and failed sign-ins."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ForeignKey, Index, String, func, select, text, update
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship

from cluster.domain.errors import NotFound
from cluster.domain.states import UserRole, UserState
from cluster.store.base import BaseRow, enum_column

FIRST_ADMINISTRATOR = "first_administrator"
PASSWORD_LINK = "password"


class User(BaseRow):
    __tablename__ = "users"
    # An id is also a numeric uid, so it is never given out twice.
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20), unique=True)
    full_name: Mapped[str] = mapped_column(String(100), default="")
    role: Mapped[UserRole] = mapped_column(enum_column(UserRole), default=UserRole.USER)
    state: Mapped[UserState] = mapped_column(enum_column(UserState), default=UserState.ACTIVE)
    password_hash: Mapped[str | None] = mapped_column(String(200))
    """An argon2id hash. None until the one-time link was used."""
    language: Mapped[str | None] = mapped_column(String(2))
    theme: Mapped[str | None] = mapped_column(String(5))
    time_zone: Mapped[str | None] = mapped_column(String(64))
    """The name of the zone in which pages show times. None: the browser's."""
    email: Mapped[str | None] = mapped_column(String(254))
    """The address for notifications of an administrator. None: no mails are sent."""
    created_at: Mapped[datetime]
    password_changed_at: Mapped[datetime | None]

    @property
    def is_administrator(self) -> bool:
        return self.role is UserRole.ADMINISTRATOR


class OneTimeSecret(BaseRow):
    """The first administrator's secret, or a link with which a user sets a password. Only the hash is stored."""

    __tablename__ = "one_time_secrets"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(30))
    """FIRST_ADMINISTRATOR or PASSWORD_LINK."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class SignInSession(BaseRow):
    """A signed-in browser. The cookie contains the token, the row only its SHA-256."""

    __tablename__ = "sign_in_sessions"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    address: Mapped[str] = mapped_column(String(64), default="")
    browser: Mapped[str] = mapped_column(String(200), default="")
    user: Mapped[User] = relationship()


class FailedSignIn(BaseRow):
    """One wrong password. Failures are counted per name and per address, also for names that no user has.

    The name is stored as a keyed digest, because people type their password there by mistake.
    """

    __tablename__ = "failed_sign_ins"
    __table_args__ = (Index(None, "name", "at"), Index(None, "address", "at"))

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]


class ApiToken(BaseRow):
    """A token `gc_<id>_<secret>`. It is shown once and only its hash is stored."""

    __tablename__ = "api_tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(50))
    secret_hash: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[list[Any]]
    """A subset of `read`, `write` and `repair`."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    user: Mapped[User] = relationship()


class SshKey(BaseRow):
    """A public key with which a person opens their jobs by SSH. The row stays after the key was removed."""

    __tablename__ = "ssh_keys"
    __table_args__ = (
        # A key belongs to one person, so that it identifies the person of each session.
        Index(
            "uq_ssh_keys_in_use",
            "fingerprint",
            unique=True,
            sqlite_where=text("removed_at IS NULL"),
            postgresql_where=text("removed_at IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(50))
    public_key: Mapped[str] = mapped_column(String(4000))
    """OpenSSH's `KIND BASE64`, without options and comment."""
    fingerprint: Mapped[str] = mapped_column(String(50))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    removed_at: Mapped[datetime | None]
    token_id: Mapped[int | None] = mapped_column(ForeignKey("api_tokens.id"), index=True)
    """The API token that added the key. The key is invalid once the token is. None: the person added it while signed
    in.
    """
    token: Mapped[ApiToken | None] = relationship()


def find_user(session: Session, name: str) -> User | None:
    """Returns None also for text with NUL, which PostgreSQL cannot store."""
    if not (name.isascii() and name.isprintable() and len(name) <= 20):
        return None
    return session.scalar(select(User).where(User.name == name))


def load_user(session: Session, user_id: int) -> User:
    """Raises NotFound, also for the installation's own service user."""
    user = session.get(User, user_id) if 0 < user_id < 2**31 else None
    if user is None or user.state is UserState.SERVICE:
        raise NotFound("user", user_id)
    return user


def has_administrator(session: Session) -> bool:
    found = select(User.id).where(User.role == UserRole.ADMINISTRATOR, User.state != UserState.SERVICE)
    return session.scalar(found.limit(1)) is not None


def count_other_administrators(session: Session, user: User) -> int:
    """Counts the other users who are active administrators and can sign in."""
    found = session.scalar(
        select(func.count())
        .select_from(User)
        .where(
            User.id != user.id,
            User.role == UserRole.ADMINISTRATOR,
            User.state == UserState.ACTIVE,
            User.password_hash.is_not(None),
        )
    )
    return found or 0


def end_sign_in_sessions(session: Session, user_id: int, now: datetime, keep_token_hash: str = "") -> None:
    session.execute(
        update(SignInSession)
        .where(
            SignInSession.user_id == user_id,
            SignInSession.ended_at.is_(None),
            SignInSession.token_hash != keep_token_hash,
        )
        .values(ended_at=now)
    )


def add_one_time_secret(
    session: Session, kind: str, user_id: int | None, secret_hash: str, now: datetime, term: timedelta
) -> None:
    """Adds a one-time secret, which replaces earlier ones of the same kind for the same user."""
    revoke_one_time_secrets(session, kind, user_id, now)
    session.add(
        OneTimeSecret(
            kind=kind, user_id=user_id, secret_hash=secret_hash, created_at=now, expires_at=now + term
        )
    )


def revoke_one_time_secrets(session: Session, kind: str, user_id: int | None, now: datetime) -> None:
    """Makes the unused secrets of this kind invalid."""
    session.execute(
        update(OneTimeSecret)
        .where(
            OneTimeSecret.kind == kind,
            OneTimeSecret.user_id.is_(None) if user_id is None else OneTimeSecret.user_id == user_id,
            OneTimeSecret.used_at.is_(None),
            OneTimeSecret.expires_at > now,
        )
        .values(expires_at=now)
    )


def find_usable_secret(session: Session, kind: str, secret_hash: str, now: datetime) -> OneTimeSecret | None:
    return session.scalar(
        select(OneTimeSecret).where(
            OneTimeSecret.kind == kind,
            OneTimeSecret.secret_hash == secret_hash,
            OneTimeSecret.used_at.is_(None),
            OneTimeSecret.expires_at > now,
        )
    )
