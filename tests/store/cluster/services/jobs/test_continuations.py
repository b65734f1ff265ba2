"""A stopped or failed job is continued by a new one, which begins with its newest complete checkpoint."""

import json
from typing import Any

import pytest

from cluster.domain.errors import Conflict, Gone, NotFound, Refused
from cluster.domain.states import JobState, Launcher, TrainingKind, Visibility
from cluster.services.context import Cluster
from cluster.services.jobs import continuations, file_deletions
from cluster.services.jobs.live_attempts import list_live_attempts
from cluster.services.storage import folders
from cluster.store.jobs import Job
from cluster.store.nodes import Unit
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_code_version, a_job, a_node, a_training, a_user, a_workspace, actor_of, holding


class Case:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.owner, self.member = a_user(cluster), a_user(cluster)
        a_node(cluster, 2)
        workspace = a_workspace(cluster, self.owner, members=(self.member,))
        self.training: Training = a_training(cluster, workspace, kind=TrainingKind.ADVANCED)
        for number in (1, 2):
            a_code_version(cluster, self.training, [("train.py", b"%d" % number)], number)

    def job(self, state: JobState = JobState.STOPPED, **columns: Any) -> Job:
        values: dict[str, Any] = {
            "name": "long",
            "launcher": Launcher.PLAIN,
            "command": ["train.py", "--lr", "0.1"],
            "code_version": 1,
            "retries": 2,
            "time_limit_seconds": 3600,
            "fence": 2,
        }
        return a_job(self.cluster, self.training, self.owner, state=state, **values | columns)

    def leave(self, job: Job, attempt: int, epoch: int, has_note: bool = True) -> None:
        settings = self.cluster.settings
        folder = folders.attempt_folder(settings, job.workspace_id, job.id, attempt) / "out/checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"epoch-{epoch}.pt").write_bytes(b"w")
        if has_note:
            (folder / f"epoch-{epoch}.json").write_text(json.dumps({"epoch": epoch, "step": epoch}))

    def continue_(self, job: Job, person: User | None = None) -> Job:
        return continuations.continue_job(self.cluster, actor_of(person or self.owner), job.id)


@pytest.fixture
def case(cluster: Cluster) -> Case:
    return Case(cluster)


def test_the_new_job_has_the_same_code_parameters_and_units(case: Case) -> None:
    job = case.job()
    case.leave(job, 1, 9)
    case.leave(job, 2, 3)
    case.leave(job, 2, 4, has_note=False)
    made = case.continue_(job, case.member)
    assert (made.continues_job_id, made.continues_from) == (job.id, "2/epoch-3.pt")
    assert (made.code_version, made.command, made.units) == (1, job.command, job.units)
    assert (made.launcher, made.retries, made.time_limit_seconds) == (Launcher.PLAIN, 2, 3600)
    assert (made.name, made.user_id, made.state) == ("long-continued", case.member.id, JobState.WAITING)


def test_a_continued_job_that_left_nothing_passes_its_own_beginning_on(case: Case) -> None:
    first = case.job()
    case.leave(first, 1, 3)
    second = case.job(
        JobState.FAILED, continues_job_id=first.id, continues_from="1/epoch-3.pt", name="a-continued"
    )
    third = case.continue_(second)
    assert (third.continues_job_id, third.continues_from) == (first.id, "1/epoch-3.pt")
    assert third.name == "a-continued"


@pytest.mark.parametrize("state", sorted(set(JobState) - {JobState.STOPPED, JobState.FAILED}))
def test_only_stopped_and_failed_jobs_are_continued(case: Case, state: JobState) -> None:
    job = case.job(state)
    case.leave(job, 1, 3)
    with pytest.raises(Conflict) as conflict:
        case.continue_(job)
    assert conflict.value.code == "job.not_continuable"


def test_without_a_checkpoint_there_is_nothing_to_continue(case: Case) -> None:
    job = case.job()
    case.leave(job, 1, 3, has_note=False)
    with pytest.raises(Refused) as refusal:
        case.continue_(job)
    assert refusal.value.code == "job.no_checkpoint"


def test_who_may_not_see_a_job_does_not_read_its_checkpoints(case: Case) -> None:
    job = case.job()
    case.leave(job, 1, 3)
    with pytest.raises(NotFound):
        case.continue_(job, a_user(case.cluster))
    with case.cluster.store.write() as session:
        session.get_one(Training, case.training.id).visibility = Visibility.PRIVATE
    with pytest.raises(NotFound):
        case.continue_(job, case.member)


def test_files_that_a_waiting_job_needs_are_not_deleted(case: Case) -> None:
    job, actor = case.job(), actor_of(case.owner)
    case.leave(job, 1, 3)
    made = case.continue_(job)
    with pytest.raises(Conflict) as conflict:
        file_deletions.request_file_deletion(case.cluster, actor, [job.id])
    assert (conflict.value.code, conflict.value.data["by"]) == ("job.files_of_continued", made.id)
    with case.cluster.store.write() as session:
        session.get_one(Job, made.id).state = JobState.STOPPED
    file_deletions.request_file_deletion(case.cluster, actor, [job.id])
    with pytest.raises(Gone):
        case.continue_(job)


def test_the_scheduler_reads_what_the_new_job_continues(case: Case) -> None:
    job = case.job()
    case.leave(job, 1, 3)
    made = case.continue_(job)
    with case.cluster.store.read() as session:
        units = list(session.query(Unit))
    holding(case.cluster, made, units[:1])
    (attempt,) = list_live_attempts(case.cluster)
    assert (attempt.continues_job_id, attempt.continues_from) == (job.id, "1/epoch-3.pt")
