"""The values of the form in which a person chooses notifications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster import words
from cluster.domain.notifications.choices import WAIT_HOURS
from cluster.domain.states import NotificationKind
from cluster.services.context import Cluster
from cluster.services.notifications.choices import LastDelivery, NotificationProfile


@dataclass(frozen=True)
class KindBox:
    """One box of the form."""

    name: str
    label: str
    is_checked: bool


@dataclass(frozen=True)
class DeliveryLine:
    """The delivery of the newest message over one channel; `error` is empty if none is known."""

    channel: str
    state: str
    at: datetime
    error: str


@dataclass(frozen=True)
class NotificationForm:
    """The values of the form. Typed values replace stored ones, so that a refused form loses nothing."""

    boxes: Sequence[KindBox]
    email: str
    wait_hours: str
    wait_options: Sequence[tuple[str, str]]
    webhook_url: str
    webhook_secret: str
    deliveries: Sequence[DeliveryLine]
    allowed_hosts: Sequence[str]
    has_mail_server: bool


def prepare_notification_form(
    cluster: Cluster, profile: NotificationProfile, typed: Mapping[str, str], language: str
) -> NotificationForm:
    choices = profile.choices
    is_typed = "wait_hours" in typed
    return NotificationForm(
        boxes=[
            KindBox(
                kind.value,
                words.word("notification.kind", kind.value, language),
                bool(typed.get(kind)) if is_typed else kind in choices.kinds,
            )
            for kind in NotificationKind
        ],
        email=typed.get("email", profile.email),
        wait_hours=typed.get("wait_hours", str(choices.wait_hours)),
        wait_options=[(str(hours), words.format_duration(hours * 3600, language)) for hours in WAIT_HOURS],
        webhook_url=typed.get("webhook_url", choices.webhook_url),
        webhook_secret=profile.webhook_secret,
        deliveries=[describe_delivery(each, language) for each in profile.deliveries],
        allowed_hosts=cluster.settings.webhook_hosts,
        has_mail_server=bool(cluster.settings.mail_from),
    )


def describe_delivery(delivery: LastDelivery, language: str) -> DeliveryLine:
    """Errors of servers are shown as they are; ours have words in both languages."""
    error = delivery.error
    return DeliveryLine(
        words.word("notice.channel", delivery.channel.value, language),
        words.word("notification.state", delivery.state.value, language),
        delivery.made_at,
        words.sentence(error, {}, language) if words.has_words(error) else error,
    )
