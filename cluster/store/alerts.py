"""Rows of alerts, of what people chose to be told of, and of the notifications about both: an outbox that a task
empties.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint, false, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship

from cluster.domain.states import NotificationChannel, NotificationKind, NotificationState
from cluster.store.base import BaseRow, NullableJson, enum_column
from cluster.store.users import User

STANDS = text("ended_at IS NULL")
WAITS = text("state = 'waiting'")
PERSONAL = text("content IS NOT NULL")
UNPLANNED = text("planned_at IS NULL")


class AlertOccurrence(BaseRow):
    """One thing that needs a person, for as long as it lasts. If it occurs again, it gets another row."""

    __tablename__ = "alert_occurrences"
    __table_args__ = (
        Index("one_occurrence_per_key", "key", unique=True, sqlite_where=STANDS, postgresql_where=STANDS),
        Index("ix_alert_occurrences_by_key", "key", "notified_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(120))
    """The code and the subject, as cluster.domain.alerts joins them."""
    alert: Mapped[dict[str, Any]]
    """{urgency, topic, subject, code, data, details: [[code, data]], path} at the time of the notification."""
    began_at: Mapped[datetime]
    ended_at: Mapped[datetime | None] = mapped_column(index=True)
    notified_at: Mapped[datetime | None]
    """The time at which the notifications were written. None: not yet, or the alert ended before."""


class Notification(BaseRow):
    """One message to one person or to a webhook. It waits until it has been delivered.

    It is about an occurrence of an alert, or has content of its own.
    """

    __tablename__ = "notifications"
    __table_args__ = (
        CheckConstraint("occurrence_id IS NOT NULL OR content IS NOT NULL", name="is_about_something"),
        Index(
            "ix_notifications_personal",
            "user_id",
            "made_at",
            sqlite_where=PERSONAL,
            postgresql_where=PERSONAL,
        ),
        Index("ix_notifications_waiting", "next_at", sqlite_where=WAITS, postgresql_where=WAITS),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    occurrence_id: Mapped[int | None] = mapped_column(ForeignKey("alert_occurrences.id"), index=True)
    content: Mapped[dict[str, Any] | None] = mapped_column(NullableJson)
    """The content of a personal message: {kind, events: [{kind, code, data, details: [[code, data]], path}],
    left_out}. `kind` is `events` or `test`.
    """
    channel: Mapped[NotificationChannel] = mapped_column(enum_column(NotificationChannel))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    """The recipient of a mail or of a personal webhook; None for the installation's webhook."""
    state: Mapped[NotificationState] = mapped_column(
        enum_column(NotificationState), default=NotificationState.WAITING
    )
    made_at: Mapped[datetime]
    next_at: Mapped[datetime]
    tries: Mapped[int] = mapped_column(default=0)
    """The number of failed tries."""
    sent_at: Mapped[datetime | None]
    error: Mapped[str] = mapped_column(String(300), default="")
    """The error of the last try."""
    is_recipient_refused: Mapped[bool] = mapped_column(default=False, server_default=false())
    """The last error is about this recipient's own address, and the channel works."""
    occurrence: Mapped[AlertOccurrence | None] = relationship()
    user: Mapped[User | None] = relationship()


class NotificationChoice(BaseRow):
    """The choices of one person. A person without a row is told nothing."""

    __tablename__ = "notification_choices"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    kinds: Mapped[list[Any]]
    """Values of NotificationKind."""
    wait_hours: Mapped[int]
    """The hours in the queue after which a job waits for long."""
    webhook_url: Mapped[str] = mapped_column(String(500), default="")
    """The address of the webhook, whose path may be a secret. Empty: no webhook is called."""
    webhook_secret: Mapped[str] = mapped_column(String(64), default="")
    """The secret that signs the calls. A new one is made with each new URL."""
    user: Mapped[User] = relationship()


class NotificationEvent(BaseRow):
    """Something that one person is to be told of, written in the transaction in which it happened.

    It stays for a while after messages were made of it, so that it is told once.
    """

    __tablename__ = "notification_events"
    __table_args__ = (
        UniqueConstraint("user_id", "key"),
        Index(
            "ix_notification_events_unplanned",
            "user_id",
            "id",
            sqlite_where=UNPLANNED,
            postgresql_where=UNPLANNED,
        ),
        Index(None, "planned_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    key: Mapped[str] = mapped_column(String(80))
    """The subject of the event, as `job:1042`. A second event with the same key is not written."""
    kind: Mapped[NotificationKind] = mapped_column(enum_column(NotificationKind))
    sweep_id: Mapped[int | None] = mapped_column(ForeignKey("sweeps.id"))
    """The sweep of the end, which is told once no job of the sweep is live."""
    data: Mapped[dict[str, Any]]
    """{code, data, details: [[code, data]], path}; empty for a sweep, whose sentence is made when it is told."""
    happened_at: Mapped[datetime]
    held_at: Mapped[datetime | None]
    """The time from which the event waits, because the person had got ten messages within the hour."""
    planned_at: Mapped[datetime | None]
    """The time at which messages were made of it, or at which nobody wanted it any more."""


def add_notification_events(session: Session, rows: list[dict[str, Any]]) -> None:
    """Rows of NotificationEvent. Those whose person and key are known already change nothing."""
    if not rows:
        return
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    session.execute(dialect.insert(NotificationEvent).on_conflict_do_nothing(), rows)
