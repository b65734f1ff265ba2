"""A mail and a webhook's body say of an alert what it is, in the reader's language and with the way to it."""

from dataclasses import replace

import pytest

from cluster.services.context import Cluster
from cluster.store.alerts import AlertOccurrence
from worker.tasks.messages.alert_texts import compose_mail, webhook_body


@pytest.fixture
def cluster(light_cluster: Cluster) -> Cluster:
    return replace(light_cluster, settings=replace(light_cluster.settings, public_url="https://lab.example"))


@pytest.fixture
def occurrence(cluster: Cluster) -> AlertOccurrence:
    alert = {
        "code": "attention.node_silent", "urgency": "unreachable", "data": {"node": "gpu03"}, "details": [],
        "path": "/nodes/3",
    }  # fmt: skip
    return AlertOccurrence(key="k", alert=alert, began_at=cluster.clock(), notified_at=cluster.clock())


@pytest.mark.parametrize(("language", "parts"), [("ko", 1), ("en", 1), (None, 2)])
def test_a_mail_is_in_both_languages_for_who_has_chosen_none(
    cluster: Cluster, occurrence: AlertOccurrence, language: str | None, parts: int
) -> None:
    subject, text = compose_mail(cluster, "minji", language, [occurrence])
    assert subject.startswith("[Groundcrew] ")
    assert text.count("https://lab.example/nodes/3") == text.count("https://lab.example/profile") == parts


def test_a_webhooks_body_has_the_alert_for_programs_and_sentences_for_people(
    cluster: Cluster, occurrence: AlertOccurrence
) -> None:
    body = webhook_body(cluster, 7, occurrence)
    assert (body["id"], body["code"], body["url"]) == (
        7,
        "attention.node_silent",
        "https://lab.example/nodes/3",
    )
    assert set(body["text"]) == {"ko", "en"} and all("gpu03" in text for text in body["text"].values())
