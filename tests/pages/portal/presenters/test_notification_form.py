"""The form of notifications shows what is kept, or what was typed and refused."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cluster.domain.notifications.choices import NotificationChoices
from cluster.domain.states import NotificationChannel, NotificationKind, NotificationState
from cluster.services.context import Cluster
from cluster.services.notifications.choices import LastDelivery, NotificationProfile
from portal.presenters.notification_form import describe_delivery, prepare_notification_form

KEPT = NotificationProfile(
    NotificationChoices(frozenset({NotificationKind.JOB_FAILED}), 12), "minji@lab.example", "", []
)


@pytest.mark.parametrize(
    ("typed", "checked", "email", "hours"),
    [
        ({}, ["job_failed"], "minji@lab.example", "12"),
        ({"email": "no address", "wait_hours": "24", "term_ends": "1"}, ["term_ends"], "no address", "24"),
        ({"email": "", "wait_hours": "1"}, [], "", "1"),
    ],
)
def test_what_was_typed_comes_before_what_is_kept(
    light_cluster: Cluster, typed: dict[str, str], checked: list[str], email: str, hours: str
) -> None:
    form = prepare_notification_form(light_cluster, KEPT, typed, "en")
    assert [box.name for box in form.boxes if box.is_checked] == checked
    assert (form.email, form.wait_hours) == (email, hours)
    assert form.wait_options == [("1", "1 h"), ("4", "4 h"), ("12", "12 h"), ("24", "1 d")]


@pytest.mark.parametrize(
    ("error", "language", "shown"),
    [
        ("550 no such person", "ko", "550 no such person"),
        ("notification.webhook_address", "en", "The host leads to this machine"),
        ("notification.webhook_address", "ko", "호스트가 이 장비"),
    ],
)
def test_our_own_errors_are_said_in_the_readers_language(error: str, language: str, shown: str) -> None:
    at = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
    delivery = LastDelivery(NotificationChannel.PERSONAL_WEBHOOK, NotificationState.WAITING, at, error)
    assert describe_delivery(delivery, language).error.startswith(shown)
    assert describe_delivery(replace(delivery, error=""), language).error == ""
