from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.jobs import JobRequest
from cluster.domain.people import Actor
from cluster.domain.states import (
    DatasetState,
    Desired,
    JobState,
    Launcher,
    TrainingKind,
    Visibility,
)
from cluster.services import environments, job_counts, jobs, operations
from cluster.services.context import Cluster
from cluster.services.queue import read_queue
from cluster.store.audit import AuditEntry
from cluster.store.jobs import Job
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    an_administrator,
    holding,
)
from tests.conftest import Clock, RecordingBell
from tests.races import at_once


@dataclass
class Lab:
    """A node with two units, a workspace that holds both, its built-in training with data, all ready."""

    node: Node
    workspace: Workspace
    manager: User
    member: User
    training: Training
    request: JobRequest

    @property
    def actor(self) -> Actor:
        return actor_of(self.member)


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    manager, member = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, manager, members=(member,), units=2)
    dataset = a_dataset(cluster, workspace)
    make_environment_ready(cluster)
    request = JobRequest(name="one", units=1, dataset_id=dataset.id, variables={"epochs": "3"})
    return Lab(a_node(cluster, 2), workspace, manager, member, a_training(cluster, workspace), request)


def make_environment_ready(cluster: Cluster) -> None:
    actor = actor_of(an_administrator(cluster))
    environment = environments.ensure_default_environment(cluster, actor, "digest", "/nowhere")
    assert environment.operation_id is not None
    operation = operations.claim_operation(cluster, environment.operation_id, "a worker")
    assert operation is not None
    environments.finish_build(cluster, operation.id, operation.fence, [])


def count_jobs(cluster: Cluster) -> int:
    with cluster.store.read() as session:
        return session.scalar(select(func.count(Job.id))) or 0


def test_a_submitted_job_is_a_row_with_checked_values_and_its_audit_entry(
    cluster: Cluster, lab: Lab, bell: RecordingBell
) -> None:
    job = jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    found = jobs.read_job(cluster, lab.actor, job.id)
    assert (found.state, found.desired, found.fence) == (JobState.WAITING, Desired.RUN, 0)
    assert found.variables["epochs"] == 3
    assert found.variables["optimizer"] == "adam"
    assert [event.code for event in found.events] == ["job.submitted"]
    assert bell.rung[-2:] == [("queue", job.id), ("jobs", job.id)]
    with cluster.store.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "job.submitted")).one()
    assert (entry.actor_name, entry.object_id) == (lab.member.name, job.id)


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"units": 0}, "units", "job.units_too_few"),
        ({"units": -1}, "units", "job.units_too_few"),
        ({"units": 3, "launcher": Launcher.HOROVOD}, "units", "job.units_over_quota"),
        ({"units": 2}, "launcher", "job.plain_is_one_process"),
        ({"name": "a b"}, "name", "name.bad_character"),
        ({"priority": 1000}, "priority", "job.priority_range"),
        ({"time_limit_seconds": 0}, "time_limit_seconds", "job.time_limit_range"),
        ({"dataset_id": None}, "dataset", "job.dataset_needed"),
        ({"dataset_id": 999}, "dataset", "job.dataset_unknown"),
        ({"command": ("train.py",)}, "command", "job.command_of_built_in"),
        ({"variables": {"epochs": "NaN"}}, "variables.epochs", "variable.not_finite"),
        ({"variables": {"dropout": "1.2"}}, "variables.dropout", "variable.too_large"),
        ({"variables": {"colour": "red"}}, "variables.colour", "variable.unknown"),
    ],
)
def test_what_can_never_run_is_refused_by_name_and_leaves_no_row(
    cluster: Cluster, lab: Lab, changes: dict[str, Any], field: str, code: str
) -> None:
    request = replace(lab.request, **changes)
    for attempt in (jobs.submit_job, jobs.check_job):
        with pytest.raises(Refused) as refusal:
            attempt(cluster, lab.actor, lab.training.id, request)
        assert (refusal.value.field, refusal.value.code) == (field, code)
    assert count_jobs(cluster) == 0


def test_more_units_than_any_node_has_are_refused(cluster: Cluster, lab: Lab) -> None:
    large = a_workspace(cluster, lab.manager, units=8)
    dataset = a_dataset(cluster, large)
    training = a_training(cluster, large)
    request = replace(lab.request, units=3, launcher=Launcher.HOROVOD, dataset_id=dataset.id)
    with pytest.raises(Refused) as refusal:
        jobs.submit_job(cluster, actor_of(lab.manager), training.id, request)
    assert (refusal.value.code, refusal.value.data["most"]) == ("job.units_over_node", 2)


def test_a_dataset_of_another_workspace_does_not_exist_and_a_failed_one_is_named(
    cluster: Cluster, lab: Lab
) -> None:
    foreign = a_dataset(cluster, a_workspace(cluster, lab.manager))
    failed = a_dataset(cluster, lab.workspace, state=DatasetState.FAILED)
    for dataset, code in ((foreign, "job.dataset_unknown"), (failed, "job.dataset_failed")):
        with pytest.raises(Refused) as refusal:
            jobs.submit_job(cluster, lab.actor, lab.training.id, replace(lab.request, dataset_id=dataset.id))
        assert refusal.value.code == code


def test_own_code_keeps_its_arguments_byte_for_byte(cluster: Cluster, lab: Lab) -> None:
    training = a_training(cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED, code_version=2)
    command = ("train.py", "$(id)", "`id`; id", "--help", "{{7*7}}", "한글 값", "data/x.csv")
    request = JobRequest(name="", units=1, command=command)
    job = jobs.submit_job(cluster, lab.actor, training.id, request)
    assert (tuple(job.command), job.code_version, job.name) == (command, 2, training.name)
    estimate = jobs.check_job(cluster, lab.actor, training.id, request)
    assert [warned.data["argument"] for warned in estimate.warnings] == ["data/x.csv"]
    with pytest.raises(Refused) as refusal:
        jobs.submit_job(cluster, lab.actor, training.id, replace(request, variables={"epochs": "1"}))
    assert refusal.value.code == "job.variables_without_model"


def test_a_repeated_request_with_the_same_key_has_one_effect(cluster: Cluster, lab: Lab) -> None:
    def submit(body_hash: str = "h1", actor: Actor = lab.actor) -> Job:
        return jobs.submit_job(cluster, actor, lab.training.id, lab.request, ("key", body_hash))

    first = submit()
    assert submit().id == first.id
    with pytest.raises(Refused) as refusal:
        submit("h2")
    assert refusal.value.code == "idempotency.other_body"
    assert submit(actor=actor_of(lab.manager)).id != first.id
    assert count_jobs(cluster) == 2


def test_two_requests_with_one_key_at_the_same_moment_make_one_job(cluster: Cluster, lab: Lab) -> None:
    call = lambda: jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request, ("key", "hash"))  # noqa: E731
    results = at_once(*[call] * 4)
    assert len({job.id for job in results if isinstance(job, Job)}) == 1
    assert count_jobs(cluster) == 1


def test_an_expired_workspace_takes_no_job_and_keeps_the_old_ones_readable(
    cluster: Cluster, lab: Lab, clock: Clock
) -> None:
    job = jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    clock.move(days=60)
    with pytest.raises(Refused) as refusal:
        jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    assert refusal.value.code == "workspace.expired"
    assert jobs.read_job(cluster, lab.actor, job.id).id == job.id


def test_a_waiting_job_is_stopped_at_once_and_only_once(cluster: Cluster, lab: Lab) -> None:
    job = jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    stopped = jobs.stop_job(cluster, lab.actor, job.id)
    assert (stopped.state, stopped.end_code) == (JobState.STOPPED, "exit.stopped_while_waiting")
    with pytest.raises(Conflict):
        jobs.stop_job(cluster, lab.actor, job.id)


def test_a_running_job_is_only_wished_to_stop(cluster: Cluster, lab: Lab) -> None:
    job = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    for _ in range(2):
        stopping = jobs.stop_job(cluster, lab.actor, job.id)
        assert (stopping.state, stopping.desired) == (JobState.STOPPING, Desired.STOP)
    events = jobs.read_job(cluster, lab.actor, job.id).events
    assert [event.code for event in events] == ["job.stop_requested"]


def test_who_may_stop_a_job(cluster: Cluster, lab: Lab) -> None:
    other, stranger = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, lab.manager, members=(lab.member, other))
    training = a_training(cluster, workspace, owner=lab.manager)
    job = a_job(cluster, training, lab.member, state=JobState.RUNNING)
    with pytest.raises(Forbidden):
        jobs.stop_job(cluster, actor_of(other), job.id)
    with pytest.raises(NotFound):
        jobs.stop_job(cluster, actor_of(stranger), job.id)
    assert not jobs.may_stop(actor_of(other), jobs.read_job(cluster, actor_of(other), job.id))
    jobs.stop_job(cluster, actor_of(lab.manager), job.id)


def test_lists_are_filtered_paged_and_hold_no_foreign_job(cluster: Cluster, lab: Lab) -> None:
    private = a_training(cluster, lab.workspace, lab.manager, visibility=Visibility.PRIVATE)
    hidden = a_job(cluster, private)
    mine = [a_job(cluster, lab.training, lab.member) for _ in range(3)]
    done = a_job(cluster, lab.training, lab.manager, state=JobState.FINISHED)

    def ids(**filters: Any) -> list[int]:
        return [job.id for job in jobs.list_jobs(cluster, lab.actor, **filters)]

    newest_first = [done.id, *(job.id for job in reversed(mine))]
    assert ids() == newest_first
    assert hidden.id in [job.id for job in jobs.list_jobs(cluster, actor_of(lab.manager))]
    assert ids(states=[JobState.FINISHED]) == [done.id]
    assert ids(user_id=lab.member.id, limit=2) == newest_first[1:3]
    assert ids(before_id=mine[1].id) == [mine[0].id]
    assert ids(workspace_id=lab.workspace.id, training_id=lab.training.id) == newest_first
    assert jobs.list_jobs(cluster, actor_of(a_user(cluster))) == []
    assert job_counts.count_living(cluster, lab.actor) == {"waiting": 3}
    with pytest.raises(NotFound):
        jobs.read_job(cluster, lab.actor, hidden.id)


def test_the_estimate_says_now_or_why_not(cluster: Cluster, lab: Lab) -> None:
    def check(units: int) -> tuple[bool, str | None]:
        launcher = Launcher.HOROVOD if units > 1 else Launcher.PLAIN
        request = replace(lab.request, units=units, launcher=launcher)
        estimate = jobs.check_job(cluster, lab.actor, lab.training.id, request)
        return estimate.starts_now, estimate.reason.code if estimate.reason else estimate.node

    assert check(2) == (True, lab.node.name)
    running = a_job(cluster, lab.training, state=JobState.RUNNING)
    holding(cluster, running, lab.node.units[:1])
    assert check(1) == (True, lab.node.name)
    assert check(2) == (False, "waiting.quota_used")
    jobs.submit_job(
        cluster, lab.actor, lab.training.id, replace(lab.request, units=2, launcher=Launcher.HOROVOD)
    )
    assert check(1) == (False, "waiting.ahead_in_queue")


def test_a_job_waits_for_the_environment_and_for_its_data(cluster: Cluster) -> None:
    manager = a_user(cluster)
    a_node(cluster, 2)
    workspace = a_workspace(cluster, manager)
    training = a_training(cluster, workspace)
    preparing = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    request = JobRequest(name="one", units=1, dataset_id=preparing.id)

    def reason() -> str | None:
        found = jobs.check_job(cluster, actor_of(manager), training.id, request).reason
        return found.code if found else None

    assert reason() == "waiting.dataset_not_ready"
    request = replace(request, dataset_id=a_dataset(cluster, workspace).id)
    assert reason() == "waiting.environment_not_ready"
    environment = environments.ensure_default_environment(cluster, actor_of(manager), "d", "/e")
    assert reason() == "waiting.environment_not_ready"
    assert environment.operation_id is not None
    operation = operations.claim_operation(cluster, environment.operation_id, "a worker")
    assert operation is not None
    environments.fail_build(cluster, operation.id, operation.fence, "environment.no_network", {})
    assert reason() == "waiting.environment_failed"


def test_the_queue_keeps_the_place_of_jobs_that_the_reader_may_not_see(
    cluster: Cluster, lab: Lab, clock: Clock
) -> None:
    private = a_training(cluster, lab.workspace, lab.manager, visibility=Visibility.PRIVATE)
    ten_minutes_ago = clock() - timedelta(minutes=10)
    a_job(
        cluster,
        lab.training,
        state=JobState.FINISHED,
        units=2,
        started_at=ten_minutes_ago,
        ended_at=clock(),
    )
    running = a_job(cluster, lab.training, lab.member, units=2, state=JobState.RUNNING)
    holding(cluster, running, lab.node.units)
    hidden = a_job(cluster, private, units=1)
    mine = a_job(cluster, lab.training, lab.member, units=1)
    view = read_queue(cluster, lab.actor)
    assert [(row.id, row.job is not None) for row in view.waiting] == [(hidden.id, False), (mine.id, True)]
    assert view.running[0].job is not None and view.running[0].job.id == running.id
    assert view.running[0].ends_at is not None
    assert (view.running[0].ends_at - clock()).total_seconds() == 600
    full = read_queue(cluster, actor_of(lab.manager))
    assert [row.job.id if row.job else None for row in full.waiting] == [hidden.id, mine.id]
    reasons = [row.standing.code for row in full.waiting]
    assert reasons == ["waiting.quota_used", "waiting.ahead_in_queue"]


def test_jobs_of_a_workspace_outside_its_term_say_so(cluster: Cluster, lab: Lab, clock: Clock) -> None:
    a_job(cluster, lab.training, lab.member)
    clock.move(days=60)
    assert read_queue(cluster, lab.actor).waiting[0].standing.code == "waiting.workspace_expired"
    clock.move(days=-61)
    assert read_queue(cluster, lab.actor).waiting[0].standing.code == "waiting.workspace_not_started"


def test_a_silent_node_offers_nothing(cluster: Cluster, lab: Lab, clock: Clock) -> None:
    clock.move(seconds=60)
    estimate = jobs.check_job(cluster, lab.actor, lab.training.id, lab.request)
    assert estimate.reason is not None and estimate.reason.code == "waiting.node_unreachable"


def test_the_time_limit_is_the_expected_end_where_nothing_else_is_known(
    cluster: Cluster, lab: Lab, clock: Clock
) -> None:
    limited = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING, time_limit_seconds=90)
    holding(cluster, limited, lab.node.units[:1])
    unlimited = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    holding(cluster, unlimited, lab.node.units[1:])
    ends = {run.job.id: run.ends_at for run in read_queue(cluster, lab.actor).running if run.job}
    assert ends[unlimited.id] is None
    limit = ends[limited.id]
    assert limit is not None and (limit - clock()).total_seconds() == 90


def test_an_end_that_has_passed_is_expected_no_more(cluster: Cluster, lab: Lab, clock: Clock) -> None:
    quick = {"started_at": clock() - timedelta(seconds=20), "ended_at": clock()}
    a_job(cluster, lab.training, state=JobState.FINISHED, **quick)
    endless = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    holding(cluster, endless, lab.node.units[:1])
    limited = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING, time_limit_seconds=90)
    holding(cluster, limited, lab.node.units[1:])
    clock.move(seconds=30)
    ends = {run.job.id: run.ends_at for run in read_queue(cluster, lab.actor).running if run.job}
    assert ends[endless.id] is None
    limit = ends[limited.id]
    assert limit is not None and (limit - clock()).total_seconds() == 60
