"""Rows of leases with their fences, and of answers to requests with an Idempotency-Key."""

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from cluster.store.base import BaseRow


class Lease(BaseRow):
    """A lease with one holder at a time. The fence grows with each new holder, so that a former one is recognised."""

    __tablename__ = "leases"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    holder: Mapped[str] = mapped_column(String(100))
    fence: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime]


class IdempotentAnswer(BaseRow):
    """The answer to a request with an Idempotency-Key, written in the transaction of its effect."""

    __tablename__ = "idempotent_answers"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(100), primary_key=True)
    body_hash: Mapped[str] = mapped_column(String(64))
    object_id: Mapped[int]
    created_at: Mapped[datetime]
