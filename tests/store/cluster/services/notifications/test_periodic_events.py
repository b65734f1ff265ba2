"""Long waits and ending terms are told once."""

from datetime import timedelta

from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.leases import HeldLease
from cluster.services.notifications.messages import write_messages
from cluster.services.notifications.periodic_events import find_periodic_events
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_job, a_user, a_workspace
from tests.conftest import Clock
from tests.notification_lab import a_sweep, choose, messages_to


def test_a_job_that_waits_for_long_is_told_once_with_those_behind_it(
    lab: Cluster, held: HeldLease, minji: User, training: Training, clock: Clock
) -> None:
    choose(lab, minji, ["job_waits"], wait_hours=1)
    first = a_job(lab, training, units=400)
    a_job(lab, training, units=400)
    clock.move(minutes=59)
    assert write_messages(lab, held) == 0
    clock.move(minutes=1)
    write_messages(lab, held)
    assert messages_to(lab, minji) == [[("notification.jobs_wait", "/jobs?state=waiting")]]
    late = a_job(lab, training, units=400)
    clock.move(minutes=61)
    write_messages(lab, held)
    clock.move(minutes=120)
    write_messages(lab, held)
    assert messages_to(lab, minji)[1:] == [[("notification.job_waits", f"/jobs/{late.id}")]]
    assert first.id < late.id


def test_of_a_sweep_that_waits_the_first_job_is_told(
    lab: Cluster, held: HeldLease, minji: User, training: Training, clock: Clock
) -> None:
    choose(lab, minji, ["job_waits"], wait_hours=1)
    jobs = a_sweep(lab, training, 3)
    clock.move(minutes=61)
    write_messages(lab, held)
    assert messages_to(lab, minji) == [[("notification.job_waits", f"/jobs/{jobs[0].id}")]]


def test_an_interrupted_job_waits_since_its_last_attempt(
    lab: Cluster, held: HeldLease, minji: User, training: Training, clock: Clock
) -> None:
    choose(lab, minji, ["job_waits"], wait_hours=1)
    a_job(lab, training)
    (attempt,) = place_waiting_jobs(lab, held)
    clock.move(minutes=200)
    attempts.record_interruption(lab, held, attempt, "interrupted.node_lost", {})
    clock.move(minutes=59)
    assert write_messages(lab, held) == 0
    clock.move(minutes=1)
    assert write_messages(lab, held) == 1


def test_the_end_of_a_term_is_told_in_three_steps_to_each_member(
    lab: Cluster, held: HeldLease, minji: User, clock: Clock
) -> None:
    choose(lab, minji, ["term_ends"])
    stranger = a_user(lab, "stranger")
    choose(lab, stranger, ["term_ends"])
    today = lab.clock().astimezone(lab.settings.zone).date()
    workspace = a_workspace(lab, manager=minji, ends_on=today + timedelta(days=16))
    for _day in range(18):
        write_messages(lab, held)
        write_messages(lab, held)
        clock.move(days=1)
    path = f"/workspaces/{workspace.id}"
    assert messages_to(lab, minji) == [[("attention.term_ends", path)]] * 3
    assert messages_to(lab, stranger) == []


def test_nobody_who_did_not_choose_it_causes_an_event(lab: Cluster, training: Training, clock: Clock) -> None:
    choose(lab, a_user(lab, "other"), ["job_ended"])
    a_job(lab, training)
    clock.move(days=3)
    with lab.store.read() as session:
        assert find_periodic_events(lab, session) == []
