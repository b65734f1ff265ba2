"""Mails by a real server, calls to a real webhook: in the reader's language, signed, without a secret, never lost."""

import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import update

from cluster.domain.errors import Unavailable
from cluster.domain.states import (
    NotificationChannel,
    NotificationState,
    OperationKind,
    OperationState,
    UserRole,
    UserState,
)
from cluster.services.alerts import outbox
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import request_operation
from cluster.services.people.users import service_actor
from cluster.store.alerts import AlertOccurrence, Notification
from cluster.store.operations import Operation
from cluster.store.users import User
from tests.builders import add, an_administrator
from tests.crash.failpoint_deaths import death_at
from tests.unit.worker.tasks.notice_receivers import PASSWORD, Ear, Postbox, a_webhook
from worker.adapters.mail import send_mail, write_mail
from worker.tasks.messages.notices import message_id
from worker.tasks.run import run_claimed

WEBHOOK_SECRET = "canary-of-the-webhook"
TOKEN = "gc_12_canaryCanaryCanaryCanaryCanary"


@pytest.fixture
def webhook() -> Iterator[tuple[Ear, str]]:
    with a_webhook() as ear:
        yield ear


@pytest.fixture
def lab(light_cluster: Cluster, postbox: tuple[Postbox, str], webhook: tuple[Ear, str]) -> Cluster:
    settings = replace(
        light_cluster.settings,
        mail_url=postbox[1],
        mail_from="groundcrew@lab.example",
        webhook_url=webhook[1],
        webhook_secret=WEBHOOK_SECRET,
        public_url="https://lab.example",
    )
    return replace(light_cluster, settings=settings)


def a_person(lab: Cluster, name: str, language: str | None) -> User:
    person = an_administrator(lab, name=name)
    with lab.store.write() as session:
        user = session.get_one(User, person.id)
        user.language, user.email = language, f"{name}@lab.example"
    return user


def an_occurrence(lab: Cluster, **data: Any) -> AlertOccurrence:
    """A silent node, with a failure that quotes what it should not."""
    alert = {
        "urgency": "unreachable",
        "topic": "node",
        "subject": 7,
        "code": "attention.node_silent",
        "data": {"node": "gpu07"},
        "details": [["operation.broken", {"error": f"curl -H 'Authorization: Bearer {TOKEN}'"}]],
        "path": "/nodes/7",
    }
    occurrence = AlertOccurrence(
        key=f"k:{data}", alert=alert | data, began_at=lab.clock(), notified_at=lab.clock()
    )
    add(lab, occurrence)
    return occurrence


def owe(lab: Cluster, occurrence: AlertOccurrence, user: User | None) -> Notification:
    channel = NotificationChannel.MAIL if user else NotificationChannel.WEBHOOK
    notice = Notification(
        occurrence_id=occurrence.id, channel=channel, user_id=user.id if user else None,
        made_at=lab.clock(), next_at=lab.clock(),
    )  # fmt: skip
    add(lab, notice)
    return notice


def work(lab: Cluster) -> OperationState:
    """One operation, from asking to its end."""
    with lab.store.write() as session:
        operation = request_operation(session, OperationKind.NOTICES, None, service_actor(lab), lab.clock())
    run_claimed(lab, operation.id)
    with lab.store.read() as session:
        return session.get_one(Operation, operation.id).state


def state_of(lab: Cluster, notice: Notification) -> NotificationState:
    with lab.store.read() as session:
        return session.get_one(Notification, notice.id).state


@pytest.mark.parametrize("said", ["451 not now", "421 too busy", "no number"])
def test_a_mail_that_was_taken_is_not_sent_again_for_a_bad_farewell(
    lab: Cluster, postbox: tuple[Postbox, str], said: str
) -> None:
    notice = owe(lab, an_occurrence(lab), a_person(lab, "anna", "en"))
    postbox[0].leaves = said
    work(lab)
    assert state_of(lab, notice) is NotificationState.SENT
    work(lab)
    assert len(postbox[0].mails) == 1


def test_each_reads_one_mail_in_the_chosen_language_and_both_where_none_is_chosen(
    lab: Cluster, postbox: tuple[Postbox, str]
) -> None:
    people = [a_person(lab, "minji", "ko"), a_person(lab, "anna", "en"), a_person(lab, "sam", None)]
    silent, full = (
        an_occurrence(lab),
        an_occurrence(
            lab,
            code="attention.disk_full",
            data={"node": "gpu08", "share": 0.93},
            details=[],
            path="/nodes/8",
        ),
    )
    for person in people:
        owe(lab, silent, person)
        owe(lab, full, person)
    assert work(lab) is OperationState.FINISHED
    korean, english, both = postbox[0].mails
    assert (korean["To"], english["To"]) == ("minji@lab.example", "anna@lab.example")
    assert korean["Subject"] == "[Groundcrew] 확인이 필요한 일 2건"
    assert english["Subject"] == "[Groundcrew] 2 things need you"
    assert "gpu07이 응답하지 않습니다" in korean.get_content() and "does not" not in korean.get_content()
    assert "* gpu07 does not answer" in english.get_content()
    assert "  https://lab.example/nodes/7" in english.get_content().splitlines()
    assert "The disk of gpu08 is 93 % full" in english.get_content()
    assert "응답하지 않습니다" in both.get_content() and "does not answer" in both.get_content()


def test_a_call_is_signed_and_says_what_a_program_needs(lab: Cluster, webhook: tuple[Ear, str]) -> None:
    notice = owe(lab, an_occurrence(lab), None)
    assert work(lab) is OperationState.FINISHED
    ((headers, body),) = webhook[0].calls
    expected = hmac.new(
        WEBHOOK_SECRET.encode(), headers["X-Groundcrew-Timestamp"].encode() + b"." + body, sha256
    ).hexdigest()
    assert headers["X-Groundcrew-Signature"] == f"sha256={expected}"
    assert headers["X-Groundcrew-Delivery"] == str(notice.id)
    said = json.loads(body)
    assert (said["code"], said["urgency"], said["url"]) == (
        "attention.node_silent",
        "unreachable",
        "https://lab.example/nodes/7",
    )
    assert said["text"]["ko"].startswith("gpu07이 응답하지 않습니다")
    assert state_of(lab, notice) is NotificationState.SENT


def test_no_secret_leaves(lab: Cluster, postbox: tuple[Postbox, str], webhook: tuple[Ear, str]) -> None:
    occurrence = an_occurrence(
        lab, details=[["operation.broken", {"error": f"{TOKEN} {lab.settings.secret_key}"}]]
    )
    owe(lab, occurrence, a_person(lab, "minji", "en"))
    owe(lab, occurrence, None)
    work(lab)
    left = postbox[0].mails[0].as_string() + webhook[0].calls[0][1].decode() + str(webhook[0].calls[0][0])
    assert "(secret)" in left
    for secret in (TOKEN, lab.settings.secret_key, PASSWORD, WEBHOOK_SECRET, "secret-path"):
        assert secret not in left.replace("POST /in/secret-path", "")


def test_a_server_that_refuses_fails_nothing_and_is_tried_again(
    lab: Cluster, postbox: tuple[Postbox, str], webhook: tuple[Ear, str]
) -> None:
    postbox[0].refuses, webhook[0].status = "451 later", 302
    mail = owe(lab, an_occurrence(lab), a_person(lab, "minji", "ko"))
    call = owe(lab, an_occurrence(lab, subject=8), None)
    after = owe(lab, an_occurrence(lab, subject=9), None)
    assert work(lab) is OperationState.FINISHED
    troubles = outbox.read_channel_errors(lab)
    assert (
        "later" in troubles[NotificationChannel.MAIL] and troubles[NotificationChannel.WEBHOOK] == "HTTP 302"
    )
    assert len(webhook[0].calls) == 1, "a dead receiver is asked once, not once for each message"
    postbox[0].refuses, webhook[0].status = "", 200
    lab.clock.move(minutes=1)  # type: ignore[attr-defined]
    work(lab)
    assert {state_of(lab, each) for each in (mail, call, after)} == {NotificationState.SENT}
    assert outbox.read_channel_errors(lab) == {}


def test_a_wrong_password_is_said_and_never_shown(lab: Cluster) -> None:
    wrong = replace(
        lab, settings=replace(lab.settings, mail_url=lab.settings.mail_url.replace(PASSWORD, "wr0ng-pass"))
    )
    owe(wrong, an_occurrence(wrong), a_person(wrong, "minji", "ko"))
    work(wrong)
    (trouble,) = outbox.read_channel_errors(wrong).values()
    assert "535" in trouble and "wr0ng-pass" not in trouble


def test_a_server_that_nobody_trusts_hears_no_password(
    lab: Cluster, postbox: tuple[Postbox, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    owe(lab, an_occurrence(lab), a_person(lab, "minji", "ko"))
    work(lab)
    assert "CERTIFICATE_VERIFY_FAILED" in outbox.read_channel_errors(lab)[NotificationChannel.MAIL]
    assert postbox[0].mails == []


def test_a_password_that_the_server_cannot_be_told_is_said_without_it(
    lab: Cluster, postbox: tuple[Postbox, str]
) -> None:
    url = postbox[1].replace(PASSWORD, "%EB%B9%84%EB%B0%80")
    with pytest.raises(Unavailable) as failed:
        send_mail(url, write_mail("a@lab.example", "b@lab.example", "s", "t", "1@lab"))
    assert "비밀" not in str(failed.value.data)


@pytest.mark.parametrize(
    "point", ["mail.send asking", "mail.send answered", "alerts.outbox.record_delivered committing"]
)
def test_a_death_anywhere_loses_no_message(lab: Cluster, postbox: tuple[Postbox, str], point: str) -> None:
    notice = owe(lab, an_occurrence(lab), a_person(lab, "minji", "ko"))
    with death_at(point):
        work(lab)
    assert state_of(lab, notice) is NotificationState.WAITING
    lab.clock.move(minutes=1)  # type: ignore[attr-defined]
    work(lab)
    assert state_of(lab, notice) is NotificationState.SENT
    assert len({mail["Message-ID"] for mail in postbox[0].mails}) == 1


def test_an_address_that_was_taken_away_gets_nothing(lab: Cluster, postbox: tuple[Postbox, str]) -> None:
    person = a_person(lab, "minji", "ko")
    notice = owe(lab, an_occurrence(lab), person)
    with lab.store.write() as session:
        session.get_one(User, person.id).email = None
    work(lab)
    assert postbox[0].mails == [] and state_of(lab, notice) is NotificationState.SENT


@pytest.mark.parametrize("change", [{"state": UserState.DISABLED}, {"role": UserRole.USER}])
def test_who_is_no_administrator_any_more_gets_nothing(
    lab: Cluster, postbox: tuple[Postbox, str], change: dict[str, Any]
) -> None:
    person = a_person(lab, "minji", "ko")
    notice = owe(lab, an_occurrence(lab), person)
    with lab.store.write() as session:
        session.execute(update(User).where(User.id == person.id).values(**change))
    work(lab)
    assert postbox[0].mails == [] and state_of(lab, notice) is NotificationState.SENT


def test_a_mail_that_is_sent_again_has_its_old_number(light_cluster: Cluster) -> None:
    """A receiver that took it the first time throws the second one away."""
    settings = replace(light_cluster.settings, public_url="https://lab.example:8443/groundcrew")
    cluster = replace(light_cluster, settings=settings)
    notices = [Notification(id=number) for number in (7, 8, 12)]
    assert message_id(cluster, notices) == "notices-7-12@lab.example"
    assert message_id(cluster, notices[:1]) == "notices-7-7@lab.example"
