"""A submitted job is one row with its event and audit entry, or is refused by name."""

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    DesiredState,
    JobState,
    TrainingKind,
)
from cluster.services.context import Cluster
from cluster.services.jobs import queries, stop_requests, submission
from cluster.services.queue import submission_preview
from cluster.store.audit import AuditEntry
from cluster.store.jobs import Job
from tests.builders import (
    a_job,
    a_training,
    a_user,
    a_workspace,
    actor_of,
)
from tests.conftest import RecordingBell
from tests.simultaneous_calls import at_once
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def count_jobs(cluster: Cluster) -> int:
    with cluster.store.read() as session:
        return session.scalar(select(func.count(Job.id))) or 0


def test_a_submitted_job_is_a_row_with_checked_values_and_its_audit_entry(
    cluster: Cluster, lab: Lab, bell: RecordingBell
) -> None:
    job = submission.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    found = queries.read_job(cluster, lab.actor, job.id)
    assert (found.state, found.desired, found.fence) == (JobState.WAITING, DesiredState.RUN, 0)
    assert found.variables["epochs"] == 3
    assert found.variables["optimizer"] == "adam"
    assert [event.code for event in found.events] == ["job.submitted"]
    assert bell.rung[-2:] == [("queue", job.id), ("jobs", job.id)]
    with cluster.store.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "job.submitted")).one()
    assert (entry.actor_name, entry.object_id) == (lab.member.name, job.id)


def test_own_code_keeps_its_arguments_byte_for_byte(cluster: Cluster, lab: Lab) -> None:
    training = a_training(cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED, code_version=2)
    command = ("train.py", "$(id)", "`id`; id", "--help", "{{7*7}}", "한글 값", "data/x.csv")
    request = JobRequest(name="", units=1, command=command)
    job = submission.submit_job(cluster, lab.actor, training.id, request)
    assert (tuple(job.command), job.code_version, job.name) == (command, 2, training.name)
    estimate = submission_preview.preview_submission(cluster, lab.actor, training.id, request)
    assert [warned.data["argument"] for warned in estimate.warnings] == ["data/x.csv"]
    with pytest.raises(Refused) as refusal:
        submission.submit_job(cluster, lab.actor, training.id, replace(request, variables={"epochs": "1"}))
    assert refusal.value.code == "job.variables_without_model"


def test_a_repeated_request_with_the_same_key_has_one_effect(cluster: Cluster, lab: Lab) -> None:
    def submit(body_hash: str = "h1", actor: Actor = lab.actor) -> Job:
        return submission.submit_job(cluster, actor, lab.training.id, lab.request, ("key", body_hash))

    first = submit()
    assert submit().id == first.id
    with pytest.raises(Refused) as refusal:
        submit("h2")
    assert refusal.value.code == "idempotency.other_body"
    assert submit(actor=actor_of(lab.manager)).id != first.id
    assert count_jobs(cluster) == 2


def test_two_requests_with_one_key_at_the_same_moment_make_one_job(cluster: Cluster, lab: Lab) -> None:
    call = lambda: submission.submit_job(cluster, lab.actor, lab.training.id, lab.request, ("key", "hash"))  # noqa: E731
    results = at_once(*[call] * 4)
    assert len({job.id for job in results if isinstance(job, Job)}) == 1
    assert count_jobs(cluster) == 1


def test_a_waiting_job_is_stopped_at_once_and_only_once(cluster: Cluster, lab: Lab) -> None:
    job = submission.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    stopped = stop_requests.stop_job(cluster, lab.actor, job.id)
    assert (stopped.state, stopped.end_code) == (JobState.STOPPED, "exit.stopped_while_waiting")
    with pytest.raises(Conflict):
        stop_requests.stop_job(cluster, lab.actor, job.id)


def test_a_running_job_is_only_wished_to_stop(cluster: Cluster, lab: Lab) -> None:
    job = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    for _ in range(2):
        stopping = stop_requests.stop_job(cluster, lab.actor, job.id)
        assert (stopping.state, stopping.desired) == (JobState.STOPPING, DesiredState.STOP)
    events = queries.read_job(cluster, lab.actor, job.id).events
    assert [event.code for event in events] == ["job.stop_requested"]


def test_who_may_stop_a_job(cluster: Cluster, lab: Lab) -> None:
    other, stranger = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, lab.manager, members=(lab.member, other))
    training = a_training(cluster, workspace, owner=lab.manager)
    job = a_job(cluster, training, lab.member, state=JobState.RUNNING)
    with pytest.raises(Forbidden):
        stop_requests.stop_job(cluster, actor_of(other), job.id)
    with pytest.raises(NotFound):
        stop_requests.stop_job(cluster, actor_of(stranger), job.id)
    assert not stop_requests.can_stop_job(actor_of(other), queries.read_job(cluster, actor_of(other), job.id))
    stop_requests.stop_job(cluster, actor_of(lab.manager), job.id)
