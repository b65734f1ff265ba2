"""The outbox of notifications: which are due, and how each delivery ended. This module sends nothing."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.alerts import DELIVERY_DEADLINE, delivery_retry_delay
from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    NotificationChannel,
    NotificationState,
    OperationKind,
    OperationState,
    UserRole,
    UserState,
)
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import enqueue_operation, request_operation
from cluster.store.alerts import Notification
from cluster.store.operations import Operation
from cluster.store.users import User

MAX_PER_DELIVERY = 200
LONGEST_ERROR = 300
ERROR_SHOWN_FOR = timedelta(hours=24)
"""The time for which a notification that was given up still counts as an error of its channel."""


def can_receive_mail(user: User) -> bool:
    """Whether the user is an administrator with an address. It is checked again at the delivery, which may be a day
    later.
    """
    is_chief = user.role is UserRole.ADMINISTRATOR and user.state is UserState.ACTIVE
    return is_chief and bool(user.email)


def list_due_notifications(
    cluster: Cluster, channel: NotificationChannel, is_personal: bool | None = None
) -> list[Notification]:
    """The due notifications, the oldest first. `is_personal`: only those about a person's own events, or only those
    about alerts.
    """
    query = select(Notification).where(
        Notification.state == NotificationState.WAITING,
        Notification.channel == channel,
        Notification.next_at <= cluster.clock(),
    )
    if is_personal is not None:
        query = query.where(
            Notification.content.is_not(None) if is_personal else Notification.content.is_(None)
        )
    loads = (joinedload(Notification.occurrence), joinedload(Notification.user))
    with cluster.store.read() as session:
        return list(session.scalars(query.options(*loads).order_by(Notification.id).limit(MAX_PER_DELIVERY)))


def record_delivered(cluster: Cluster, notices: Sequence[Notification]) -> None:
    """Records deliveries. If the process dies before the commit, they are sent again under the same number."""
    now = cluster.clock()
    with cluster.store.write() as session:
        for notice in load_waiting_notifications(session, notices):
            notice.state, notice.sent_at, notice.error = NotificationState.SENT, now, ""


def record_delivery_failure(
    cluster: Cluster, notices: Sequence[Notification], error: str, is_recipient_refused: bool = False
) -> None:
    """Records the failure. The time until the next try grows, and after a day there is no further try.

    `is_recipient_refused`: the channel works, and the recipient's own address does not.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        for notice in load_waiting_notifications(session, notices):
            notice.tries += 1
            notice.error = error[:LONGEST_ERROR]
            notice.is_recipient_refused = is_recipient_refused
            notice.next_at = now + delivery_retry_delay(notice.tries)
            if now - notice.made_at >= DELIVERY_DEADLINE:
                notice.state = NotificationState.GIVEN_UP


def load_waiting_notifications(session: Session, notices: Sequence[Notification]) -> list[Notification]:
    """The notifications that still wait."""
    wanted = [notice.id for notice in notices]
    query = select(Notification).where(
        Notification.id.in_(wanted), Notification.state == NotificationState.WAITING
    )
    return list(session.scalars(query.with_for_update()))


def read_channel_errors(cluster: Cluster) -> dict[NotificationChannel, str]:
    """Returns channel → the newest error of a notification that waits or was given up recently."""
    query = select(Notification.channel, Notification.error).where(has_failed_lately(cluster.clock()))
    with cluster.store.read() as session:
        rows = session.execute(query.order_by(Notification.id))
        return {channel: error for channel, error in rows}  # noqa: C416


def has_failed_lately(now: datetime) -> ColumnElement[bool]:
    return (
        (Notification.tries > 0)
        & (Notification.state != NotificationState.SENT)
        & ~Notification.is_recipient_refused
        & (Notification.made_at > now - ERROR_SHOWN_FOR - DELIVERY_DEADLINE)
    )


def request_delivery(cluster: Cluster, actor: Actor) -> Operation | None:
    """Requests one operation at a time if a notification is due."""
    due = select(Notification.id).where(
        Notification.state == NotificationState.WAITING, Notification.next_at <= cluster.clock()
    )
    under_way = select(Operation.id).where(
        Operation.kind == OperationKind.NOTICES,
        Operation.state.in_([OperationState.REQUESTED, OperationState.RUNNING]),
    )
    with cluster.store.read_columns() as connection:
        if connection.scalar(due.limit(1)) is None or connection.scalar(under_way.limit(1)) is not None:
            return None
    with cluster.store.write() as session:
        operation = request_operation(session, OperationKind.NOTICES, None, actor, cluster.clock())
    enqueue_operation(cluster, operation)
    return operation
