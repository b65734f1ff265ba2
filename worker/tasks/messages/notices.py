"""Sends the notifications in the outbox. About alerts: one mail per person, one webhook call per occurrence."""

from collections.abc import Sequence

from cluster.domain.errors import Unavailable
from cluster.domain.people.time_zones import reader_zone
from cluster.domain.states import NotificationChannel
from cluster.failpoints import external_call
from cluster.services.alerts.outbox import (
    can_receive_mail,
    list_due_notifications,
    record_delivered,
    record_delivery_failure,
)
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import finish_claimed_operation
from cluster.store.alerts import Notification
from cluster.store.operations import Operation
from worker.adapters.mail import send_mail, write_mail
from worker.adapters.webhook import call_webhook
from worker.tasks.messages.alert_texts import compose_mail, webhook_body
from worker.tasks.messages.personal_messages import (
    mail_host,
    send_personal_mails,
    send_personal_webhook_calls,
)
from worker.tasks.step_progress import StepProgress

SEND = "notices_send"
WEIGHTS = {SEND: 1.0}


def run_notices(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice: a delivered message is not due any more, and one whose delivery a killed task did not
    record is sent again under the same number. Raises Conflict. The task does not fail if a channel does not work: its
    messages wait.
    """
    reporter = StepProgress(cluster, operation, WEIGHTS)
    reporter.start()
    reporter.report(SEND, 0.0)
    ways = cluster.settings.notification_channels
    if NotificationChannel.MAIL in ways:
        send_mails(cluster)
        send_personal_mails(cluster)
    if NotificationChannel.WEBHOOK in ways:
        send_webhook_calls(cluster)
    if NotificationChannel.PERSONAL_WEBHOOK in ways:
        send_personal_webhook_calls(cluster)
    finish_claimed_operation(cluster, operation)


def send_mails(cluster: Cluster) -> None:
    by_person: dict[int, list[Notification]] = {}
    for notice in list_due_notifications(cluster, NotificationChannel.MAIL, is_personal=False):
        by_person.setdefault(notice.user_id or 0, []).append(notice)
    for notices in by_person.values():
        user = notices[0].user
        if user is None or user.email is None or not can_receive_mail(user):
            record_delivered(
                cluster, notices
            )  # The person no longer wants the message, or may no longer get it.
            continue
        occurrences = [each.occurrence for each in notices if each.occurrence is not None]
        zone = reader_zone(user.time_zone, cluster.settings.zone)
        subject, text = compose_mail(cluster, user.name, user.language, occurrences, zone)
        try:
            with external_call("mail.send"):
                mail = write_mail(
                    cluster.settings.mail_from, user.email, subject, text, message_id(cluster, notices)
                )
                send_mail(cluster.settings.mail_url, mail)
        except Unavailable as failed:
            record_delivery_failure(cluster, notices, str(failed.data["error"]))
        else:
            record_delivered(cluster, notices)


def message_id(cluster: Cluster, notices: Sequence[Notification]) -> str:
    return f"notices-{notices[0].id}-{notices[-1].id}@{mail_host(cluster)}"


def send_webhook_calls(cluster: Cluster) -> None:
    """Ends at the first call that fails, so that a receiver that does not answer does not delay all other messages."""
    settings = cluster.settings
    for notice in list_due_notifications(cluster, NotificationChannel.WEBHOOK):
        if notice.occurrence is None:
            continue
        timestamp = str(int(cluster.clock().timestamp()))
        try:
            with external_call("webhook.call"):
                call_webhook(
                    settings.webhook_url,
                    settings.webhook_secret,
                    notice.id,
                    timestamp,
                    webhook_body(cluster, notice.id, notice.occurrence),
                )
        except Unavailable as failed:
            record_delivery_failure(cluster, [notice], str(failed.data["error"]))
            return
        record_delivered(cluster, [notice])
