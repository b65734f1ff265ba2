"""Messages are made of events once, at most ten within an hour."""

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.states import JobState, NotificationChannel, UserState
from cluster.services.context import Cluster
from cluster.services.jobs import stop_requests
from cluster.services.leases import HeldLease
from cluster.services.notifications.messages import write_messages
from cluster.services.sweeps.stops import stop_sweep
from cluster.store.alerts import Notification, NotificationChoice, NotificationEvent
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_job, a_user, actor_of, an_administrator
from tests.conftest import Clock
from tests.crash.failpoint_deaths import death_at
from tests.notification_lab import HOOK, a_sweep, choose, messages_to, run
from tests.store.conftest import FINISHED

FAILED = AttemptOutcome(JobState.FAILED, "exit.error", {"exit_code": 1}, 1)


def test_the_end_of_a_job_is_told_once_over_each_channel(
    lab: Cluster, held: HeldLease, minji: User, training: Training
) -> None:
    choose(lab, minji, webhook=HOOK)
    job = a_job(lab, training, name="mnist")
    run(lab, held, FINISHED)
    assert messages_to(lab, minji) == [], "the scheduler makes messages later"
    assert write_messages(lab, held) == 2
    told = [[("notification.job_finished", f"/jobs/{job.id}")]]
    assert messages_to(lab, minji) == told
    assert messages_to(lab, minji, NotificationChannel.PERSONAL_WEBHOOK) == told
    with lab.store.read() as session:
        content = session.scalars(select(Notification.content)).first()
    assert content is not None
    assert content["events"][0]["data"] == {"job": job.id, "name": "mnist", "seconds": 5400, "ran": True}
    assert write_messages(lab, held) == 0
    assert len(messages_to(lab, minji)) == 1


def test_a_sweep_is_one_message_once_none_of_its_jobs_lives(
    lab: Cluster, held: HeldLease, minji: User, training: Training
) -> None:
    choose(lab, minji, ["job_failed"])
    jobs = a_sweep(lab, training, 6)
    run(lab, held, FINISHED, FAILED, FINISHED, FAILED)
    assert write_messages(lab, held) == 0
    run(lab, held, FINISHED, FINISHED)
    assert write_messages(lab, held) == 1
    assert messages_to(lab, minji) == [[("notification.sweep_ended", f"/sweeps/{jobs[0].sweep_id}")]]
    with lab.store.read() as session:
        (content,) = session.scalars(select(Notification.content))
    assert content is not None
    counts = content["events"][0]["data"]
    assert (counts["jobs"], counts["finished"], counts["failed"], counts["stopped"]) == (6, 4, 2, 0)


@pytest.mark.parametrize(("is_own", "messages"), [(True, 0), (False, 1)])
def test_a_sweep_that_waited_is_told_if_somebody_else_has_stopped_it(
    lab: Cluster, held: HeldLease, minji: User, training: Training, is_own: bool, messages: int
) -> None:
    choose(lab, minji)
    (job, *_others) = a_sweep(lab, training, 3)
    assert job.sweep_id is not None
    stop_sweep(lab, actor_of(minji if is_own else an_administrator(lab)), job.sweep_id)
    write_messages(lab, held)
    assert len(messages_to(lab, minji)) == messages


def test_after_ten_messages_the_others_wait_for_a_digest(
    lab: Cluster, held: HeldLease, minji: User, training: Training, clock: Clock
) -> None:
    choose(lab, minji)
    others = a_user(lab, "other")
    choose(lab, others)

    def end(number: int) -> None:
        for _ in range(number):
            job = a_job(lab, training, user=minji)
            stop_requests.stop_job(lab, actor_of(an_administrator(lab)), job.id)

    end(10)
    write_messages(lab, held)
    clock.move(minutes=1)
    end(7)
    write_messages(lab, held)
    assert [len(message) for message in messages_to(lab, minji)] == [1] * 10
    job = a_job(lab, training, user=others)
    stop_requests.stop_job(lab, actor_of(an_administrator(lab)), job.id)
    write_messages(lab, held)
    assert len(messages_to(lab, others)) == 1, "one person's flood holds up nobody else"
    clock.move(minutes=58)
    assert write_messages(lab, held) == 0
    clock.move(minutes=1)
    write_messages(lab, held)
    assert [len(message) for message in messages_to(lab, minji)] == [1] * 10 + [7]
    end(60)
    clock.move(minutes=60)
    write_messages(lab, held)
    assert [len(message) for message in messages_to(lab, minji)][11:] == [1] * 9 + [50]
    with lab.store.read() as session:
        last = session.scalars(select(Notification).order_by(Notification.id.desc())).first()
        assert last is not None and last.content is not None and last.content["left_out"] == 1


@pytest.mark.parametrize("change", ["choice", "address", "account", "channel"])
def test_nobody_is_told_what_they_do_not_want_any_more(
    lab: Cluster, held: HeldLease, minji: User, training: Training, change: str
) -> None:
    choose(lab, minji)
    a_job(lab, training)
    run(lab, held, FINISHED)
    with lab.store.write() as session:
        user = session.get_one(User, minji.id)
        if change == "choice":
            session.get_one(NotificationChoice, minji.id).kinds = ["job_waits"]
        elif change == "address":
            user.email = None
        elif change == "account":
            user.state = UserState.DISABLED
    without = lab
    if change == "channel":
        without = replace(lab, settings=replace(lab.settings, mail_url=""))
    assert write_messages(without, held) == 0
    with lab.store.read() as session:
        waiting = select(func.count()).where(NotificationEvent.planned_at.is_(None))
        assert session.scalar(waiting) == 0, "it is not told later either"


@pytest.mark.parametrize(
    "point",
    [
        "jobs.attempts.record_end committed",
        "notifications.messages.write_messages committing",
        "notifications.messages.write_messages committed",
    ],
)
def test_a_death_loses_no_message_and_repeats_none(
    lab: Cluster, held: HeldLease, minji: User, training: Training, point: str
) -> None:
    choose(lab, minji)
    job = a_job(lab, training)
    with death_at(point):
        run(lab, held, FINISHED)
        write_messages(lab, held)
    for _ in range(3):
        write_messages(lab, held)
    assert messages_to(lab, minji) == [[("notification.job_finished", f"/jobs/{job.id}")]]
