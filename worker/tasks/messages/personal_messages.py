"""Sends people's own messages: one mail or one call per notification, under the notification's number."""

from cluster.domain.errors import Unavailable
from cluster.domain.people.time_zones import reader_zone
from cluster.domain.states import NotificationChannel, UserState
from cluster.failpoints import external_call
from cluster.services.alerts.outbox import list_due_notifications, record_delivered, record_delivery_failure
from cluster.services.context import Cluster
from cluster.services.nodes.node_addresses import list_cluster_networks
from cluster.services.notifications.choices import find_webhook
from cluster.services.notifications.invitation_mails import INVITATION, invitation_url
from worker.adapters.mail import MailAddressRefused, send_mail, write_mail
from worker.adapters.webhook import call_personal_webhook
from worker.tasks.messages.personal_texts import compose_personal_mail, content_of, personal_webhook_body


def send_personal_mails(cluster: Cluster) -> None:
    """Ends at the first mail that the server refuses for a reason of its own, as it would refuse the others too."""
    settings = cluster.settings
    for notification in list_due_notifications(cluster, NotificationChannel.MAIL, is_personal=True):
        user = notification.user
        if user is None or user.email is None or user.state is not UserState.ACTIVE:
            record_delivered(
                cluster, [notification]
            )  # The person no longer wants the message, or may no longer get it.
            continue
        content = content_of(notification)
        if content["kind"] == INVITATION and invitation_url(cluster, content) is None:
            record_delivered(cluster, [notification])  # The link was used or replaced, or has expired.
            continue
        zone = reader_zone(user.time_zone, settings.zone)
        subject, text = compose_personal_mail(cluster, user.language, content, zone)
        number = f"message-{notification.id}@{mail_host(cluster)}"
        try:
            with external_call("mail.send"):
                send_mail(
                    settings.mail_url, write_mail(settings.mail_from, user.email, subject, text, number)
                )
        except MailAddressRefused as failed:
            record_delivery_failure(cluster, [notification], str(failed.data["error"]), True)
        except Unavailable as failed:
            record_delivery_failure(cluster, [notification], str(failed.data["error"]))
            return
        else:
            record_delivered(cluster, [notification])


def send_personal_webhook_calls(cluster: Cluster) -> None:
    """A host that does not accept a call gets no other one in this run, so that it does not delay other people's
    messages.
    """
    networks = list_cluster_networks(cluster)
    failed_hosts = set()
    for notification in list_due_notifications(cluster, NotificationChannel.PERSONAL_WEBHOOK):
        webhook = find_webhook(cluster, notification.user_id)
        if webhook is None:
            record_delivered(cluster, [notification])
            continue
        if webhook.host in failed_hosts:
            continue
        body = personal_webhook_body(cluster, notification, webhook.language)
        timestamp = str(int(cluster.clock().timestamp()))
        try:
            with external_call("webhook.call"):
                call_personal_webhook(webhook.url, webhook.secret, notification.id, timestamp, body, networks)
        except Unavailable as failed:
            failed_hosts.add(webhook.host)
            record_delivery_failure(cluster, [notification], str(failed.data["error"]), True)
        else:
            record_delivered(cluster, [notification])


def mail_host(cluster: Cluster) -> str:
    """The host of the portal, which ends each message id."""
    return cluster.settings.public_url.partition("://")[2].partition("/")[0].partition(":")[0]
