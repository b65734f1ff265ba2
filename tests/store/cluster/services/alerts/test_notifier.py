"""An alert is recorded once per occurrence, with a message for each person who wants one."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from cluster.domain.errors import Refused
from cluster.domain.names import check_mail_address
from cluster.domain.states import NotificationChannel, NotificationState, OperationKind, OperationState
from cluster.services.alerts import outbox
from cluster.services.alerts.notifier import notify_people
from cluster.services.audit import entries as audit
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.notifications.choices import set_choices
from cluster.store.alerts import AlertOccurrence, Notification
from cluster.store.nodes import Node
from cluster.store.operations import Operation
from tests.builders import a_node, actor_of, add, an_administrator
from tests.crash.failpoint_deaths import death_at

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


def wake(lab: Cluster) -> None:
    """The node speaks again."""
    with lab.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=lab.clock(), lost_at=None))


def written(lab: Cluster) -> list[Notification]:
    with lab.store.read() as session:
        return list(session.scalars(select(Notification).order_by(Notification.id)))


def test_a_silent_node_is_told_once_to_each_who_wants_it(lab: Cluster, held: HeldLease) -> None:
    move(lab, minutes=2)
    assert notify_people(lab, held) == 0  # Seen for the first time: it may be over in a moment.
    move(lab, minutes=1)
    assert notify_people(lab, held) == 2
    move(lab, minutes=1)
    assert notify_people(lab, held) == 0
    assert [(each.channel, each.state) for each in written(lab)] == [
        (NotificationChannel.MAIL, NotificationState.WAITING),
        (NotificationChannel.WEBHOOK, NotificationState.WAITING),
    ]
    with lab.store.read() as session:
        (occurrence,) = session.scalars(select(AlertOccurrence))
        (operation,) = session.scalars(select(Operation).where(Operation.kind == OperationKind.NOTICES))
    assert occurrence.alert["data"] == {"node": "gpu07"}
    assert occurrence.alert["path"].startswith("/nodes/")
    assert operation.id


def test_what_is_over_within_a_minute_is_told_to_nobody(lab: Cluster, held: HeldLease) -> None:
    move(lab, minutes=2)
    notify_people(lab, held)
    wake(lab)
    move(lab, seconds=5)
    notify_people(lab, held)
    assert written(lab) == []


def test_what_comes_and_goes_is_told_once_an_hour(lab: Cluster, held: HeldLease) -> None:
    told = []
    for _ in range(3):  # A node that is silent for three minutes out of twenty.
        wake(lab)
        notify_people(lab, held)
        for _ in range(3):
            move(lab, minutes=1)
            told.append(notify_people(lab, held))
        wake(lab)
        notify_people(lab, held)
        move(lab, minutes=17)
    assert sum(told) == 2


def test_nothing_is_written_where_there_is_no_way(lab: Cluster, held: HeldLease) -> None:
    mute = replace(lab, settings=replace(lab.settings, mail_url="", webhook_url=""))
    for _ in range(3):
        move(lab, minutes=2)
        assert notify_people(mute, held) == 0
    with lab.store.read() as session:
        assert session.scalars(select(AlertOccurrence)).all() == []


def test_a_scheduler_that_lost_its_lease_tells_nobody(lab: Cluster, held: HeldLease) -> None:
    move(lab, minutes=2)
    stale = replace(held, fence=held.fence - 1)
    with pytest.raises(LeaseLost):
        notify_people(lab, stale)
    assert written(lab) == []


def test_a_way_that_the_settings_name_no_more_keeps_nobody_busy(lab: Cluster, held: HeldLease) -> None:
    move(lab, minutes=2)
    notify_people(lab, held)
    move(lab, minutes=1)
    notify_people(lab, held)
    outbox.record_delivered(lab, outbox.list_due_notifications(lab, NotificationChannel.WEBHOOK))
    outbox.record_delivery_failure(
        lab, outbox.list_due_notifications(lab, NotificationChannel.MAIL), "ConnectionRefusedError"
    )
    with lab.store.write() as session:
        session.execute(update(Operation).values(state=OperationState.FINISHED))
    without = replace(lab, settings=replace(lab.settings, mail_url=""))
    move(lab, minutes=2)
    with pytest.raises(LeaseLost):
        notify_people(without, replace(held, fence=held.fence - 1))
    notify_people(without, held)
    assert outbox.read_channel_errors(lab) == {}, "it was taken out on purpose"
    assert outbox.request_delivery(without, actor_of(an_administrator(lab, name="other"))) is None
    assert [each.state for each in written(lab)] == [NotificationState.SENT]


def test_old_occurrences_go_with_their_messages(lab: Cluster, held: HeldLease) -> None:
    long_ago = lab.clock() - timedelta(days=100)
    old = AlertOccurrence(key="a:1", alert={}, began_at=long_ago, ended_at=long_ago, notified_at=long_ago)
    add(lab, old)
    add(
        lab,
        Notification(occurrence_id=old.id, channel=NotificationChannel.WEBHOOK, made_at=long_ago, next_at=long_ago,
               state=NotificationState.SENT),
    )  # fmt: skip
    move(lab, minutes=2)
    notify_people(lab, held)
    assert written(lab) == []


def test_an_address_is_kept_and_taken_away_by_its_owner(cluster: Cluster) -> None:
    person = actor_of(an_administrator(cluster))
    assert set_choices(cluster, person, [], 4, "", f" {ADDRESS} ").email == ADDRESS
    assert set_choices(cluster, person, [], 4, "", "").email == ""
    entries = audit.list_audit_entries(cluster, person, action="user.mail_set")
    assert [entry.data for entry in entries] == [{"is_set": False}, {"is_set": True}]


@pytest.mark.parametrize(
    "typed",
    [
        "minji",
        "@lab",
        "minji@",
        "a@b@c",
        "a@b\nBcc: c@d",
        "민지@lab",
        "A <a@b>",
        "a b@c",
        "a@" + "b" * 260,
        "a,b@c",
    ],
)
def test_an_address_that_could_begin_a_header_or_means_two_people_is_refused(typed: str) -> None:
    with pytest.raises(Refused):
        check_mail_address(typed)


@pytest.mark.parametrize(
    "point",
    [
        "alerts.notifier.notify_people committing",
        "alerts.notifier.notify_people committed",
        "alerts.outbox.request_delivery committing",
        "alerts.outbox.request_delivery committed",
    ],
)
def test_a_scheduler_that_dies_tells_neither_twice_nor_never(
    lab: Cluster, held: HeldLease, point: str
) -> None:
    move(lab, minutes=2)
    notify_people(lab, held)
    move(lab, minutes=1)
    with death_at(point):
        notify_people(lab, held)
    notify_people(lab, held)
    assert len(written(lab)) == 2
    with lab.store.read() as session:
        sending = select(Operation).where(Operation.kind == OperationKind.NOTICES)
        assert len(session.scalars(sending).all()) == 1
