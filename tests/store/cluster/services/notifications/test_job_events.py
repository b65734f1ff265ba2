"""The end of a job and what is told of it are one transaction."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import stop_requests
from cluster.services.leases import HeldLease
from cluster.services.notifications.job_events import describe_job_end
from cluster.services.notifications.messages import write_messages
from cluster.store.alerts import Notification, NotificationEvent
from cluster.store.jobs import headline_columns
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.words import sentence
from tests.builders import a_job, actor_of, an_administrator
from tests.crash.failpoint_deaths import death_at
from tests.notification_lab import choose, messages_to, run
from tests.store.conftest import FINISHED

FAILED = AttemptOutcome(JobState.FAILED, "exit.error", {"exit_code": 1}, 1)


def test_a_failure_is_told_with_its_cause_and_a_retry_is_not_told(
    lab: Cluster, held: HeldLease, minji: User, training: Training
) -> None:
    choose(lab, minji, ["job_failed"])
    a_job(lab, training, retries=1)
    run(lab, held, FAILED)
    assert write_messages(lab, held) == 0
    run(lab, held, FAILED)
    assert write_messages(lab, held) == 1
    with lab.store.read() as session:
        (content,) = session.scalars(select(Notification.content))
    assert content is not None
    assert content["events"][0]["details"][0][0] == "exit.error"


@pytest.mark.parametrize(
    ("kinds", "codes"), [((), []), (("job_failed",), ["failed"]), (("job_ended",), ["finished"])]
)
def test_each_person_is_told_what_they_chose(
    lab: Cluster, held: HeldLease, minji: User, training: Training, kinds: tuple[str, ...], codes: list[str]
) -> None:
    choose(lab, minji, kinds)
    a_job(lab, training)
    a_job(lab, training)
    run(lab, held, FINISHED, FAILED)
    write_messages(lab, held)
    assert [code for ((code, _path),) in messages_to(lab, minji)] == [
        f"notification.job_{code}" for code in codes
    ]


def test_a_person_is_not_told_of_jobs_that_they_stopped_themselves(
    lab: Cluster, held: HeldLease, minji: User, training: Training
) -> None:
    choose(lab, minji)
    own, foreign = a_job(lab, training), a_job(lab, training)
    stop_requests.stop_job(lab, actor_of(minji), own.id)
    stop_requests.stop_job(lab, actor_of(an_administrator(lab)), foreign.id)
    write_messages(lab, held)
    assert messages_to(lab, minji) == [[("notification.job_stopped", f"/jobs/{foreign.id}")]]


def test_what_dies_before_the_end_is_committed_tells_nothing(
    lab: Cluster, held: HeldLease, minji: User, training: Training
) -> None:
    choose(lab, minji)
    a_job(lab, training)
    with death_at("jobs.attempts.record_end committing"):
        run(lab, held, FINISHED)
    assert write_messages(lab, held) == 0


def test_nothing_is_written_for_people_without_choices(
    lab: Cluster, held: HeldLease, training: Training
) -> None:
    for _ in range(3):
        a_job(lab, training)
    run(lab, held, FINISHED, FINISHED, FAILED)
    with lab.store.read() as session:
        assert session.scalar(select(func.count()).select_from(NotificationEvent)) == 0
    assert write_messages(lab, held) == 0


def test_the_end_of_a_job_is_told_with_its_duration_and_cause(lab: Cluster, training: Training) -> None:
    begin = lab.clock() - timedelta(minutes=90)
    ran = {
        "submitted_at": begin,
        "ended_at": lab.clock(),
        "end_code": "exit.error",
        "end_data": {"exit_code": 1},
    }
    failed = describe_job_end(a_job(lab, training, state=JobState.FAILED, started_at=lab.clock(), **ran))
    assert (failed["code"], failed["data"]["seconds"]) == ("notification.job_failed", 0)
    assert failed["details"] == [["exit.error", {"exit_code": 1}]]
    never_ran = describe_job_end(a_job(lab, training, state=JobState.STOPPED, **ran))
    assert (never_ran["data"]["seconds"], never_ran["data"]["ran"]) == (5400, None)
    finished = describe_job_end(a_job(lab, training, state=JobState.FINISHED, **ran))
    assert finished["details"] == []
    measured = headline_columns(HeadlineMetric("accuracy", 0.951, is_best=True))
    scored = describe_job_end(a_job(lab, training, state=JobState.FINISHED, **ran, **measured))
    ((code, data),) = scored["details"]
    assert data == {"metric": "accuracy", "value": 0.951, "which": "best"}
    assert sentence(code, data, "en") == "result: accuracy 95.1 % (best)"
    assert sentence(code, data, "ko") == "결과: accuracy 95.1 % (최고)"
