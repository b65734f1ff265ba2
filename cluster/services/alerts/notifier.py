"""Notifies people of alerts: compares the alerts of now with the recorded occurrences and writes one notification per
person and channel."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from cluster.domain.alerts import Alert, AlertTopic, is_notification_due
from cluster.domain.states import NotificationChannel, NotificationState
from cluster.portal_paths import alert_path
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.alerts.outbox import can_receive_mail, request_delivery
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.people.users import service_actor
from cluster.store.alerts import AlertOccurrence, Notification
from cluster.store.users import User

OCCURRENCES_KEPT_FOR = timedelta(days=90)


@dataclass(frozen=True)
class AlertChanges:
    """The result of a comparison: new alerts, ended occurrences, and occurrences that are due for notification."""

    new: Sequence[Alert]
    ended: Sequence[int]
    due: Sequence[tuple[int, Alert]]

    @property
    def is_nothing(self) -> bool:
        return not (self.new or self.ended or self.due)


def notify_people(cluster: Cluster, held: HeldLease) -> int:
    """Writes notifications and returns their number. The scheduler calls it each minute. Raises LeaseLost."""
    channels = cluster.settings.notification_channels
    delete_undeliverable(cluster, held, channels)
    if not channels:
        return 0
    actor = replace(service_actor(cluster), is_administrator=True)
    alerts = list_alerts(cluster, actor)
    now, written = cluster.clock(), 0
    with cluster.store.read() as session:
        step = plan_alert_changes(session, alerts, now)
    if not step.is_nothing:
        with cluster.store.write() as session:
            check_lease(session, held)
            written = apply_alert_changes(session, step, channels, now)
            delete_old_occurrences(session, now)
    request_delivery(cluster, actor)
    return written


def delete_undeliverable(cluster: Cluster, held: HeldLease, channels: Sequence[NotificationChannel]) -> None:
    """Deletes undelivered notifications of a channel that is no longer configured."""
    unsendable = (Notification.state != NotificationState.SENT) & Notification.channel.not_in(channels)
    with cluster.store.read_columns() as connection:
        if connection.scalar(select(Notification.id).where(unsendable).limit(1)) is None:
            return
    with cluster.store.write() as session:
        check_lease(session, held)
        session.execute(delete(Notification).where(unsendable))


def plan_alert_changes(session: Session, alerts: Iterable[Alert], now: datetime) -> AlertChanges:
    """Compares alerts and occurrences, and changes nothing."""
    standing = {
        each.key: each
        for each in session.scalars(select(AlertOccurrence).where(AlertOccurrence.ended_at.is_(None)))
    }
    seen = {alert.key: alert for alert in alerts}
    unnotified = [each for key, each in standing.items() if key in seen and each.notified_at is None]
    last = read_last_notified(session, [each.key for each in unnotified])
    return AlertChanges(
        new=[alert for key, alert in seen.items() if key not in standing],
        ended=[each.id for key, each in standing.items() if key not in seen],
        due=[
            (each.id, seen[each.key])
            for each in unnotified
            if is_notification_due(each.began_at, last.get(each.key), now)
        ],
    )


def read_last_notified(session: Session, keys: Sequence[str]) -> dict[str, datetime]:
    if not keys:
        return {}
    query = select(AlertOccurrence.key, func.max(AlertOccurrence.notified_at)).where(
        AlertOccurrence.key.in_(keys), AlertOccurrence.notified_at.is_not(None)
    )
    return {key: at for key, at in session.execute(query.group_by(AlertOccurrence.key)) if at is not None}


def apply_alert_changes(
    session: Session, step: AlertChanges, channels: Sequence[NotificationChannel], now: datetime
) -> int:
    """Writes the notifications in the transaction in which the occurrences count as notified."""
    for alert in step.new:
        session.add(AlertOccurrence(key=alert.key, alert=alert_to_data(alert), began_at=now))
    for occurrence_id in step.ended:
        session.get_one(AlertOccurrence, occurrence_id).ended_at = now
    receivers = list_mail_recipients(session) if step.due else []
    written = 0
    for occurrence_id, alert in step.due:
        occurrence = session.get_one(AlertOccurrence, occurrence_id)
        occurrence.notified_at, occurrence.alert = now, alert_to_data(alert)
        for notice in build_notifications(occurrence, channels_for_alert(alert, channels), receivers, now):
            session.add(notice)
            written += 1
    return written


def build_notifications(
    occurrence: AlertOccurrence,
    channels: Iterable[NotificationChannel],
    receivers: Iterable[User],
    now: datetime,
) -> Iterable[Notification]:
    for channel in channels:
        people = [user.id for user in receivers] if channel is NotificationChannel.MAIL else [None]
        for user_id in people:
            yield Notification(
                occurrence_id=occurrence.id, channel=channel, user_id=user_id, made_at=now, next_at=now
            )


def list_mail_recipients(session: Session) -> list[User]:
    return [
        user
        for user in session.scalars(select(User).where(User.email.is_not(None)))
        if can_receive_mail(user)
    ]


def channels_for_alert(alert: Alert, channels: Sequence[NotificationChannel]) -> list[NotificationChannel]:
    """An alert about a failing channel is sent over the other channels only, and never over people's own webhooks."""
    return [
        each
        for each in channels
        if each is not NotificationChannel.PERSONAL_WEBHOOK
        and (alert.topic is not AlertTopic.TELLING or each != alert.subject)
    ]


def alert_to_data(alert: Alert) -> dict[str, object]:
    return {
        "urgency": alert.urgency.value,
        "topic": alert.topic.value,
        "subject": alert.subject,
        "code": alert.code,
        "data": dict(alert.data),
        "details": [[detail.code, dict(detail.data)] for detail in alert.details],
        "path": alert_path(alert),
    }


def delete_old_occurrences(session: Session, now: datetime) -> None:
    old = select(AlertOccurrence.id).where(AlertOccurrence.ended_at < now - OCCURRENCES_KEPT_FOR)
    session.execute(delete(Notification).where(Notification.occurrence_id.in_(old)))
    session.execute(delete(AlertOccurrence).where(AlertOccurrence.ended_at < now - OCCURRENCES_KEPT_FOR))
