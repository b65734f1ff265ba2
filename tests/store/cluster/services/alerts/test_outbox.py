"""A message stays in the outbox until it is sent, or for a day."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cluster.domain.alerts import (
    AlertTopic,
)
from cluster.domain.states import NotificationChannel
from cluster.services.alerts import outbox
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.alerts.notifier import channels_for_alert, notify_people
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.notifications.choices import set_choices
from tests.builders import a_node, actor_of, an_administrator

ADDRESS = "minji@lab.example"


@pytest.fixture
def lab(cluster: Cluster) -> Cluster:
    """With both ways and an administrator who wants mail; its one node is silent."""
    settings = replace(
        cluster.settings,
        mail_url="smtp://mail.lab.example",
        mail_from="groundcrew@lab.example",
        webhook_url="https://chat.lab.example/in",
        webhook_secret="signs",
    )
    lab = replace(cluster, settings=settings)
    chief = actor_of(an_administrator(lab, name="minji"))
    set_choices(lab, chief, [], 4, "", ADDRESS)
    an_administrator(lab, name="no-address")
    a_node(lab, 2, name="gpu07")
    return lab


@pytest.fixture
def held(lab: Cluster) -> HeldLease:
    lease = acquire_lease(lab, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    return lease


def move(lab: Cluster, **step: float) -> None:
    lab.clock.move(**step)  # type: ignore[attr-defined]


def test_a_way_that_does_not_work_is_tried_again_and_said_on_the_page(lab: Cluster, held: HeldLease) -> None:
    move(lab, minutes=2)
    notify_people(lab, held)
    move(lab, minutes=1)
    notify_people(lab, held)
    (mail,) = outbox.list_due_notifications(lab, NotificationChannel.MAIL)
    outbox.record_delivery_failure(lab, [mail], "ConnectionRefusedError")
    assert outbox.list_due_notifications(lab, NotificationChannel.MAIL) == []
    chief = actor_of(an_administrator(lab, name="reader"))
    told = [each for each in list_alerts(lab, chief) if each.topic is AlertTopic.TELLING]
    assert [dict(each.data) for each in told] == [{"channel": "mail", "error": "ConnectionRefusedError"}]
    assert channels_for_alert(told[0], list(NotificationChannel)) == [NotificationChannel.WEBHOOK]
    move(lab, minutes=1)
    assert [each.id for each in outbox.list_due_notifications(lab, NotificationChannel.MAIL)] == [mail.id]
    outbox.record_delivered(lab, [mail])
    assert outbox.read_channel_errors(lab) == {}


def test_after_a_day_nobody_tries_any_more(lab: Cluster, held: HeldLease) -> None:
    move(lab, minutes=2)
    notify_people(lab, held)
    move(lab, minutes=1)
    notify_people(lab, held)
    move(lab, hours=25)
    (mail,) = outbox.list_due_notifications(lab, NotificationChannel.MAIL)
    outbox.record_delivery_failure(lab, [mail], "no")
    move(lab, hours=2)
    assert outbox.list_due_notifications(lab, NotificationChannel.MAIL) == []
    assert NotificationChannel.MAIL in outbox.read_channel_errors(lab)
    move(lab, hours=48)
    assert NotificationChannel.MAIL not in outbox.read_channel_errors(lab)
