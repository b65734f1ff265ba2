"""Users, the ways they prove who they are, and what keeps guessers out."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import UserRole, UserState
from cluster.store.base import Row, by_value


class User(Row):
    __tablename__ = "users"
    __table_args__ = {"sqlite_autoincrement": True}  # An id is also a numeric uid: never given out twice.

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20), unique=True)
    full_name: Mapped[str] = mapped_column(String(100), default="")
    role: Mapped[UserRole] = mapped_column(by_value(UserRole), default=UserRole.USER)
    state: Mapped[UserState] = mapped_column(by_value(UserState), default=UserState.ACTIVE)
    password_hash: Mapped[str | None] = mapped_column(String(200))
    """argon2id; None until the one-time link was used."""
    language: Mapped[str | None] = mapped_column(String(2))
    theme: Mapped[str | None] = mapped_column(String(5))
    created_at: Mapped[datetime]
    password_changed_at: Mapped[datetime | None]

    @property
    def is_administrator(self) -> bool:
        return self.role is UserRole.ADMINISTRATOR


class OneTimeSecret(Row):
    """First administrator's secret, or a link with which a user sets a password. Only the hash is kept."""

    __tablename__ = "one_time_secrets"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(30))
    """`first_administrator` or `password`."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class SignInSession(Row):
    """A signed-in browser. The cookie carries the token, the row only its SHA-256."""

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


class SignInTry(Row):
    """One wrong password; counted per name and per address, also for names that nobody has."""

    __tablename__ = "sign_in_tries"
    __table_args__ = (Index(None, "name", "at"), Index(None, "address", "at"))

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]


class ApiToken(Row):
    """`gc_<id>_<secret>`; shown once, only the hash is kept."""

    __tablename__ = "api_tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(50))
    secret_hash: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[list[Any]]
    """Of `read` and `write`."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    user: Mapped[User] = relationship()
