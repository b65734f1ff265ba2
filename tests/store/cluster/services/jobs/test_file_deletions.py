"""The deletion of jobs' files: who may ask for it, of which jobs, and what stays."""

from dataclasses import dataclass

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, Gone, NotFound
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import file_deletions
from cluster.services.leases import SCHEDULER_LEASE, SCHEDULER_LEASE_DURATION, LeaseLost, acquire_lease
from cluster.store.audit import AuditEntry
from cluster.store.jobs import Job, JobEvent
from cluster.store.users import User
from tests.builders import a_job, a_training, a_user, a_workspace, actor_of, an_administrator


@dataclass
class Shelf:
    cluster: Cluster
    people: dict[str, User]
    ended: Job
    other: Job
    living: Job

    def ask(self, kind: str, *jobs: Job) -> list[Job]:
        return file_deletions.request_file_deletion(
            self.cluster, actor_of(self.people[kind]), [job.id for job in jobs]
        )

    def read(self, job: Job) -> Job:
        with self.cluster.store.read() as session:
            return session.get_one(Job, job.id)


@pytest.fixture
def shelf(cluster: Cluster) -> Shelf:
    names = ("manager", "owner", "user", "member", "stranger")
    people = {name: a_user(cluster, name) for name in names} | {"administrator": an_administrator(cluster)}
    inside = tuple(people[name] for name in ("owner", "user", "member"))
    workspace = a_workspace(cluster, people["manager"], inside)
    training = a_training(cluster, workspace, people["owner"])
    ended, other = (
        a_job(cluster, training, people["user"], state=state, fence=1, storage_bytes=5000)
        for state in (JobState.FAILED, JobState.FINISHED)
    )
    living = a_job(cluster, training, people["user"], state=JobState.RUNNING, fence=1)
    return Shelf(cluster, people, ended, other, living)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("administrator", None),
        ("manager", None),
        ("owner", None),
        ("user", None),
        ("member", Forbidden),
        ("stranger", NotFound),
    ],
)
def test_who_may_have_them_deleted(shelf: Shelf, kind: str, error: type[Exception] | None) -> None:
    if error is None:
        assert [job.id for job in shelf.ask(kind, shelf.ended)] == [shelf.ended.id]
        assert shelf.read(shelf.ended).files_unwanted_by == shelf.people[kind].name
        return
    with pytest.raises(error):
        shelf.ask(kind, shelf.ended)
    assert shelf.read(shelf.ended).files_unwanted_at is None


def test_of_several_jobs_all_are_deleted_or_none(shelf: Shelf) -> None:
    with pytest.raises(Conflict) as conflict:
        shelf.ask("user", shelf.ended, shelf.living, shelf.other)
    assert conflict.value.data == {"id": shelf.living.id}
    assert file_deletions.list_pending_deletions(shelf.cluster) == []
    shelf.ask("user", shelf.other, shelf.ended)
    found = [job.job_id for job in file_deletions.list_pending_deletions(shelf.cluster)]
    assert found == [shelf.ended.id, shelf.other.id]


def test_a_second_wish_changes_nothing_and_each_first_one_is_in_the_access_log(shelf: Shelf) -> None:
    shelf.ask("user", shelf.ended)
    shelf.ask("manager", shelf.ended, shelf.other)
    assert shelf.read(shelf.ended).files_unwanted_by == "user"
    with shelf.cluster.store.read() as session:
        query = select(AuditEntry).where(AuditEntry.action == "job.files_unwanted").order_by(AuditEntry.id)
        entries = [(entry.actor_name, entry.object_id, entry.data) for entry in session.scalars(query)]
    assert entries == [
        ("user", shelf.ended.id, {"bytes": 5000}),
        ("manager", shelf.other.id, {"bytes": 5000}),
    ]


def test_row_history_and_numbers_stay(shelf: Shelf) -> None:
    file_deletions.require_files(shelf.read(shelf.ended))
    shelf.ask("user", shelf.ended)
    with pytest.raises(Gone) as going:
        file_deletions.require_files(shelf.read(shelf.ended))
    assert going.value.code == "job.files_going"
    held = acquire_lease(shelf.cluster, SCHEDULER_LEASE, "a scheduler", SCHEDULER_LEASE_DURATION)
    assert held is not None
    assert file_deletions.record_files_deleted(shelf.cluster, held, shelf.ended.id)
    assert not file_deletions.record_files_deleted(shelf.cluster, held, shelf.ended.id)
    row = shelf.read(shelf.ended)
    assert (row.state, row.storage_bytes) == (JobState.FAILED, 5000)
    assert file_deletions.list_pending_deletions(shelf.cluster) == []
    with pytest.raises(Gone) as gone:
        file_deletions.require_files(row)
    assert (gone.value.code, gone.value.data["by"]) == ("job.files_deleted", "user")
    with shelf.cluster.store.read() as session:
        query = select(JobEvent.code).where(JobEvent.job_id == row.id).order_by(JobEvent.id)
        assert list(session.scalars(query)) == ["job.files_unwanted", "job.files_gone"]


def test_who_has_lost_the_lease_notes_nothing(shelf: Shelf) -> None:
    shelf.ask("user", shelf.ended)
    held = acquire_lease(shelf.cluster, SCHEDULER_LEASE, "a scheduler", SCHEDULER_LEASE_DURATION)
    assert held is not None
    assert acquire_lease(
        shelf.cluster, SCHEDULER_LEASE, "another", SCHEDULER_LEASE_DURATION, is_dead=lambda holder: True
    )
    with pytest.raises(LeaseLost):
        file_deletions.record_files_deleted(shelf.cluster, held, shelf.ended.id)
    assert shelf.read(shelf.ended).files_deleted_at is None


@pytest.mark.parametrize(
    ("fence", "is_unwanted", "expected"), [(0, False, False), (1, False, True), (1, True, False)]
)
def test_a_job_has_files_from_its_first_attempt_until_nobody_wants_them(
    shelf: Shelf, fence: int, is_unwanted: bool, expected: bool
) -> None:
    job = shelf.read(shelf.ended)
    job.fence, job.files_unwanted_at = fence, shelf.cluster.clock() if is_unwanted else None
    assert file_deletions.has_files(job) is expected
