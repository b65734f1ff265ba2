"""Sends a person a test message at once, by the same outbox as all other messages."""

from cluster.domain.errors import Refused
from cluster.domain.notifications.messages import free_messages
from cluster.domain.people.actor import Actor
from cluster.domain.states import NotificationChannel
from cluster.services.alerts.outbox import request_delivery
from cluster.services.context import Cluster
from cluster.services.notifications.messages import message_content, personal_notification, read_sent_times
from cluster.services.people.users import service_actor
from cluster.store.alerts import NotificationChoice
from cluster.store.audit import add_audit_entry
from cluster.store.users import load_user

PERSONAL_CHANNELS = (NotificationChannel.MAIL, NotificationChannel.PERSONAL_WEBHOOK)


def send_test_messages(cluster: Cluster, actor: Actor) -> list[NotificationChannel]:
    """Sends the actor a test message by each of their channels, as all other messages are sent. Raises Refused."""
    channels = write_test_messages(cluster, actor)
    request_delivery(cluster, service_actor(cluster))
    return channels


def write_test_messages(cluster: Cluster, actor: Actor) -> list[NotificationChannel]:
    """Writes one message for each channel for which the actor has given an address. Returns them. Raises Refused.

    Test messages count towards the limit of messages per hour.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        user = load_user(session, actor.user_id)
        row = session.get(NotificationChoice, user.id)
        addresses = (user.email, row.webhook_url if row else "")
        channels = [channel for channel, address in zip(PERSONAL_CHANNELS, addresses, strict=True) if address]
        if not channels:
            raise Refused("test", "notification.no_address")
        if not free_messages(read_sent_times(session, user.id, now), now):
            raise Refused("test", "notification.hour_is_full")
        for channel in channels:
            session.add(personal_notification(user.id, channel, message_content("test", []), now))
        add_audit_entry(
            session, now, actor, "user.notification_test", user.id, channels=[each.value for each in channels]
        )
    return channels
