"""Rows of alerts and of the notifications about them: an outbox that a task empties."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import NotificationChannel, NotificationState
from cluster.store.base import BaseRow, enum_column
from cluster.store.users import User

STANDS = text("ended_at IS NULL")
WAITS = text("state = 'waiting'")


class AlertOccurrence(BaseRow):
    """One thing that needs a person, as long as it is the case; when it comes back it is another one."""

    __tablename__ = "alert_occurrences"
    __table_args__ = (
        Index("one_occurrence_per_key", "key", unique=True, sqlite_where=STANDS, postgresql_where=STANDS),
        Index("ix_alert_occurrences_by_key", "key", "notified_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(120))
    """Code and subject, as cluster.domain.alerts makes it."""
    alert: Mapped[dict[str, Any]]
    """{urgency, topic, subject, code, data, details: [[code, data]], path} as it was when people were notified."""
    began_at: Mapped[datetime]
    ended_at: Mapped[datetime | None] = mapped_column(index=True)
    notified_at: Mapped[datetime | None]
    """When its messages were written; None: not yet, or it was over before."""


class Notification(BaseRow):
    """One message to one person or to the webhook. It waits until somebody has taken it."""

    __tablename__ = "notifications"
    __table_args__ = (
        Index("ix_notifications_waiting", "next_at", sqlite_where=WAITS, postgresql_where=WAITS),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    occurrence_id: Mapped[int] = mapped_column(ForeignKey("alert_occurrences.id"), index=True)
    channel: Mapped[NotificationChannel] = mapped_column(enum_column(NotificationChannel))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    """The recipient of a mail; None for the webhook."""
    state: Mapped[NotificationState] = mapped_column(
        enum_column(NotificationState), default=NotificationState.WAITING
    )
    made_at: Mapped[datetime]
    next_at: Mapped[datetime]
    tries: Mapped[int] = mapped_column(default=0)
    """How many failed."""
    sent_at: Mapped[datetime | None]
    error: Mapped[str] = mapped_column(String(300), default="")
    """What the last try ended with."""
    occurrence: Mapped[AlertOccurrence] = relationship()
    user: Mapped[User | None] = relationship()
