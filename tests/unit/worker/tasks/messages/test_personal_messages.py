"""People's own messages by a real mail server and to a real webhook: in their language, once, never to a wrong host."""

import hmac
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from ipaddress import ip_network
from typing import Any

import pytest

from cluster.domain.errors import Unavailable
from cluster.domain.notifications.webhook_targets import IpNetwork, is_callable_address
from cluster.domain.states import (
    NotificationChannel,
    NotificationState,
    OperationKind,
    OperationState,
    UserState,
)
from cluster.services.alerts import outbox
from cluster.services.context import Cluster
from cluster.services.notifications.choices import read_choices
from cluster.services.operations.lifecycle import request_operation
from cluster.services.people.passwords import issue_password_link
from cluster.services.people.users import service_actor
from cluster.services.workspaces import invitations
from cluster.store.alerts import Notification
from cluster.store.operations import Operation
from cluster.store.users import User
from tests.builders import a_user, actor_of, add, an_administrator
from tests.crash.failpoint_deaths import death_at
from tests.notification_lab import choose
from tests.unit.worker.tasks.notice_receivers import Ear, Postbox, a_webhook
from worker.adapters import webhook as webhook_adapter
from worker.adapters.webhook import call_personal_webhook
from worker.tasks.messages.personal_messages import mail_host
from worker.tasks.run import run_claimed

FAILURE = {
    "kind": "job_failed",
    "code": "notification.job_failed",
    "data": {"job": 1042, "name": "mnist", "seconds": 7500, "ran": True},
    "details": [
        ["exit.error", {"exit_code": 1}],
        ["notification.headline", {"metric": "accuracy/validation", "value": 0.951, "which": "best"}],
    ],
    "path": "/jobs/1042",
}
CHECKED = "127.0.0.2"
"""Stands for an address outside in these tests, which let it pass."""
REBOUND = "127.0.0.1"


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Ear, int]]:
    """A receiver at an address that passes; its name leads there the first time and to `REBOUND` from then on."""
    real, asked = socket.getaddrinfo, []

    def resolve(host: str, port: int, *more: Any, **named: Any) -> Any:
        if host != "chat.lab.example":
            return real(host, port, *more, **named)
        asked.append(host)
        return real(CHECKED if len(asked) == 1 else REBOUND, port, *more, **named)

    def is_callable(address: str, networks: tuple[IpNetwork, ...]) -> bool:
        return address == CHECKED or is_callable_address(address, networks)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(webhook_adapter, "is_callable_address", is_callable)
    with a_webhook(CHECKED) as (ear, url):
        yield ear, int(url.split(":")[2].split("/")[0])


@pytest.fixture
def lab(light_cluster: Cluster, postbox: tuple[Postbox, str], hook: tuple[Ear, int]) -> Cluster:
    settings = replace(
        light_cluster.settings,
        mail_url=postbox[1],
        mail_from="groundcrew@lab.example",
        webhook_hosts=(f"chat.lab.example:{hook[1]}",),
        public_url="https://lab.example",
    )
    return replace(light_cluster, settings=settings)


def a_person(lab: Cluster, name: str = "minji", language: str | None = "en", port: int = 0) -> User:
    person = a_user(lab, name, language=language)
    choose(lab, person, webhook=f"http://chat.lab.example:{port}/in/secret-path" if port else "")
    return person


def owe(
    lab: Cluster,
    user: User,
    channel: NotificationChannel = NotificationChannel.MAIL,
    *events: dict[str, Any],
    left_out: int = 0,
) -> Notification:
    content = {"kind": "events" if events else "test", "events": list(events), "left_out": left_out}
    notice = Notification(
        user_id=user.id, channel=channel, content=content, made_at=lab.clock(), next_at=lab.clock()
    )
    add(lab, notice)
    return notice


def work(lab: Cluster) -> None:
    with lab.store.write() as session:
        operation = request_operation(session, OperationKind.NOTICES, None, service_actor(lab), lab.clock())
    run_claimed(lab, operation.id)
    with lab.store.read() as session:
        assert session.get_one(Operation, operation.id).state is OperationState.FINISHED


def row_of(lab: Cluster, notice: Notification) -> Notification:
    with lab.store.read() as session:
        return session.get_one(Notification, notice.id)


def test_a_mail_says_state_duration_and_result_in_the_persons_language(
    lab: Cluster, postbox: tuple[Postbox, str]
) -> None:
    for name, language in (("minji", "ko"), ("anna", "en"), ("sam", None)):
        owe(lab, a_person(lab, name, language), NotificationChannel.MAIL, FAILURE)
    work(lab)
    korean, english, both = postbox[0].mails
    assert korean["Subject"] == "[Groundcrew] job-1042 (mnist) 작업이 2시간 5분 만에 실패했습니다"
    assert english["Subject"] == "[Groundcrew] job-1042 (mnist) has failed after 2 h 5 min"
    lines = english.get_content().splitlines()
    assert lines[0].startswith("* job-1042 (mnist) has failed after 2 h 5 min · ")
    assert lines[0].endswith(" · result: val accuracy 95.1 % (best)")
    assert lines[1] == "  https://lab.example/jobs/1042"
    assert "결과: 검증 정확도 95.1 % (최고)" in korean.get_content() and "result" not in korean.get_content()
    assert "실패했습니다" in both.get_content() and "has failed" in both.get_content()
    assert [mail["To"] for mail in postbox[0].mails] == [f"{n}@lab.example" for n in ("minji", "anna", "sam")]


def test_a_digest_names_its_events_and_counts_the_others(lab: Cluster, postbox: tuple[Postbox, str]) -> None:
    owe(lab, a_person(lab), NotificationChannel.MAIL, FAILURE, FAILURE, left_out=7)
    work(lab)
    (mail,) = postbox[0].mails
    assert mail["Subject"] == "[Groundcrew] 9 messages"
    assert mail.get_content().count("/jobs/1042") == 2 and "… and 7 more" in mail.get_content()


def test_a_call_is_signed_and_goes_to_the_address_that_was_checked(
    lab: Cluster, hook: tuple[Ear, int]
) -> None:
    person = a_person(lab, port=hook[1])
    notice = owe(lab, person, NotificationChannel.PERSONAL_WEBHOOK, FAILURE)
    with a_webhook(REBOUND, hook[1]) as (wrong, _url):
        work(lab)
        assert wrong.calls == []
    ((headers, body),) = hook[0].calls
    secret = read_choices(lab, actor_of(person)).webhook_secret
    expected = hmac.new(secret.encode(), headers["X-Groundcrew-Timestamp"].encode() + b"." + body, sha256)
    assert headers["X-Groundcrew-Signature"] == f"sha256={expected.hexdigest()}"
    assert headers["Host"] == f"chat.lab.example:{hook[1]}"
    content = json.loads(body)
    assert content["id"] == notice.id and content["text"].startswith("* job-1042 (mnist) has failed")
    assert content["events"] == [
        {"kind": "job_failed", "code": "notification.job_failed", "url": "https://lab.example/jobs/1042"}
    ]
    assert row_of(lab, notice).state is NotificationState.SENT


def test_an_answer_that_changes_to_this_machine_is_not_called(lab: Cluster, hook: tuple[Ear, int]) -> None:
    person = a_person(lab, port=hook[1])
    owe(lab, person, NotificationChannel.PERSONAL_WEBHOOK, FAILURE)
    work(lab)
    second = owe(lab, person, NotificationChannel.PERSONAL_WEBHOOK, FAILURE)
    with a_webhook(REBOUND, hook[1]) as (wrong, _url):
        work(lab)
        assert wrong.calls == []
    assert len(hook[0].calls) == 1
    kept = row_of(lab, second)
    assert (kept.state, kept.error) == (NotificationState.WAITING, "notification.webhook_address")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "localhost",
        "169.254.169.254",
        "[fe80::1]",
        "10.20.0.7",
        "[::ffff:10.20.0.7]",
        "169090600",
    ],
)
def test_however_an_address_is_written_it_is_checked(host: str) -> None:
    networks = (ip_network("10.20.0.0/16"),)
    with a_webhook() as (ear, url):
        port = url.split(":")[2].split("/")[0]
        with pytest.raises(Unavailable) as failed:
            call_personal_webhook(f"http://{host}:{port}/", "s", 1, "1", {}, networks)
        assert ear.calls == []
    # `gaierror`: the resolver of this machine does not know the form.
    assert failed.value.data["error"] in ("notification.webhook_address", "gaierror")


def test_one_address_of_several_that_is_refused_stops_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = [(socket.AF_INET, 1, 6, "", (address, 80)) for address in ("198.51.100.7", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked, **_named: answer)
    with pytest.raises(Unavailable) as failed:
        call_personal_webhook("http://chat.lab.example/", "s", 1, "1", {}, ())
    assert failed.value.data["error"] == "notification.webhook_address"


def test_a_redirect_is_not_followed_and_other_hosts_are_called(lab: Cluster, hook: tuple[Ear, int]) -> None:
    hook[0].status = 302
    person = a_person(lab, port=hook[1])
    first = owe(lab, person, NotificationChannel.PERSONAL_WEBHOOK, FAILURE)
    owe(lab, person, NotificationChannel.PERSONAL_WEBHOOK, FAILURE)
    work(lab)
    assert len(hook[0].calls) == 1, "a host that takes nothing is called once"
    assert row_of(lab, first).error == "HTTP 302"
    assert outbox.read_channel_errors(lab) == {}, "one person's webhook is no administrator's alert"
    last = read_choices(lab, actor_of(person)).deliveries[-1]
    assert (last.channel, last.state) == (NotificationChannel.PERSONAL_WEBHOOK, NotificationState.WAITING)


def test_a_mistyped_address_is_no_alert_and_holds_up_nobody(
    lab: Cluster, postbox: tuple[Postbox, str]
) -> None:
    postbox[0].refuses_recipient = "minji@lab.example"
    wrong = owe(lab, a_person(lab, "minji"), NotificationChannel.MAIL, FAILURE)
    right = owe(lab, a_person(lab, "anna"), NotificationChannel.MAIL, FAILURE)
    work(lab)
    assert row_of(lab, wrong).error == "550 no such person"
    assert row_of(lab, right).state is NotificationState.SENT
    assert outbox.read_channel_errors(lab) == {}


def test_a_mail_server_that_is_down_is_an_alert_and_is_asked_once(
    lab: Cluster, postbox: tuple[Postbox, str]
) -> None:
    postbox[0].refuses = "451 later"
    owe(lab, a_person(lab, "minji"), NotificationChannel.MAIL, FAILURE)
    second = owe(lab, a_person(lab, "anna"), NotificationChannel.MAIL, FAILURE)
    work(lab)
    assert "later" in outbox.read_channel_errors(lab)[NotificationChannel.MAIL]
    assert row_of(lab, second).tries == 0


@pytest.mark.parametrize(
    "point", ["mail.send asking", "mail.send answered", "alerts.outbox.record_delivered committing"]
)
def test_a_death_loses_no_mail_and_sends_it_under_its_old_number(
    lab: Cluster, postbox: tuple[Postbox, str], point: str
) -> None:
    person = a_person(lab)
    notice = owe(lab, person, NotificationChannel.MAIL, FAILURE)
    with death_at(point):
        work(lab)
    assert row_of(lab, notice).state is NotificationState.WAITING
    owe(lab, person, NotificationChannel.MAIL, FAILURE)
    work(lab)
    work(lab)
    numbers = [mail["Message-ID"] for mail in postbox[0].mails]
    assert len(set(numbers)) == 2 and f"<message-{notice.id}@lab.example>" in numbers
    assert row_of(lab, notice).state is NotificationState.SENT


def test_who_is_disabled_gets_nothing(
    lab: Cluster, postbox: tuple[Postbox, str], hook: tuple[Ear, int]
) -> None:
    person = a_person(lab, port=hook[1])
    notices = [
        owe(lab, person, channel, FAILURE)
        for channel in (NotificationChannel.MAIL, NotificationChannel.PERSONAL_WEBHOOK)
    ]
    with lab.store.write() as session:
        session.get_one(User, person.id).state = UserState.DISABLED
    work(lab)
    assert postbox[0].mails == [] and hook[0].calls == []
    assert {row_of(lab, notice).state for notice in notices} == {NotificationState.SENT}


def test_a_test_message_says_that_it_is_one(
    lab: Cluster, postbox: tuple[Postbox, str], hook: tuple[Ear, int]
) -> None:
    person = a_person(lab, port=hook[1])
    owe(lab, person)
    owe(lab, person, NotificationChannel.PERSONAL_WEBHOOK)
    work(lab)
    assert postbox[0].mails[0]["Subject"] == "[Groundcrew] A test message"
    assert json.loads(hook[0].calls[0][1])["text"].startswith("Messages from Groundcrew arrive here.")


def test_an_invitation_is_mailed_with_its_link_once(lab: Cluster, postbox: tuple[Postbox, str]) -> None:
    chief = actor_of(an_administrator(lab))
    _user, secret = invitations.invite_user(lab, chief, "newcomer", email="new@lab.example")
    invitations.invite_user(lab, chief, "late", email="late@lab.example")
    with lab.store.read() as session:
        late = session.query(User).filter_by(name="late").one()
    issue_password_link(lab, chief, late.id)
    work(lab)
    (mail,) = postbox[0].mails
    assert mail["To"] == "new@lab.example"
    assert mail["Subject"] == "[Groundcrew] 초대받았습니다 / You are invited"
    assert f"https://lab.example/link/{secret}" in mail.get_content()
    assert "newcomer" in mail.get_content()
    work(lab)
    assert len(postbox[0].mails) == 1


def test_times_of_a_mail_are_in_the_zone_that_its_reader_chose(
    lab: Cluster, postbox: tuple[Postbox, str]
) -> None:
    until = {"until": "2026-11-20T20:30:00+00:00", "zone": "-"}
    event = FAILURE | {"details": [["notification.invitation_term", until]]}
    for name, zone, clock in (("minji", "America/Lima", "15:30"), ("anna", None, "05:30")):
        person = a_person(lab, name)
        with lab.store.write() as session:
            session.get_one(User, person.id).time_zone = zone
        owe(lab, person, NotificationChannel.MAIL, event)
        work(lab)
        text = postbox[0].mails[-1].get_content()
        assert clock in text and f"Times are in {zone or lab.settings.zone.key}." in text


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://gpu.lab.example:8443/portal", "gpu.lab.example"), ("http://10.0.0.5", "10.0.0.5")],
)
def test_the_number_of_a_message_ends_with_the_host_of_the_portal(
    light_cluster: Cluster, url: str, host: str
) -> None:
    cluster = replace(light_cluster, settings=replace(light_cluster.settings, public_url=url))
    assert mail_host(cluster) == host
