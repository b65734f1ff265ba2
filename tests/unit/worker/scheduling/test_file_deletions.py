"""Files of ended jobs are deleted beside the scheduler's loop, and what cannot be deleted is tried again."""

from pathlib import Path

import pytest

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import file_deletions
from cluster.services.jobs.file_deletions import PendingFileDeletion
from cluster.services.leases import HeldLease
from cluster.services.storage import folders
from cluster.store.jobs import Job
from tests.builders import a_job, a_training, a_workspace
from worker.scheduling.file_deletions import JobFileDeletions, delete_job_folder
from worker.scheduling.scheduler_lease import acquire_scheduler_lease


@pytest.fixture
def held(light_cluster: Cluster) -> HeldLease:
    lease = acquire_scheduler_lease(light_cluster, "a scheduler")
    assert lease is not None
    return lease


@pytest.fixture
def job(light_cluster: Cluster) -> Job:
    """Ended, with files that nobody wants any more."""
    cluster = light_cluster
    training = a_training(cluster, a_workspace(cluster))
    unwanted = {"files_unwanted_at": cluster.clock(), "files_unwanted_by": "user"}
    job = a_job(cluster, training, state=JobState.FINISHED, ended_at=cluster.clock(), **unwanted)
    out = folders.attempt_folder(cluster.settings, job.workspace_id, job.id, 1) / "out"
    out.mkdir(parents=True)
    (out / "epoch-0001.h5").write_text("weights")
    return job


def folder_of(cluster: Cluster, job: Job) -> Path:
    return folders.attempt_folder(cluster.settings, job.workspace_id, job.id, 1).parent


def advance_until_idle(deletions: JobFileDeletions, held: HeldLease) -> None:
    """What was begun is awaited, and written at the next turn."""
    deletions.advance(held)
    for removal in list(deletions.in_progress.values()):
        removal.exception(timeout=30)
    deletions.advance(held)


def test_a_jobs_folder_is_deleted_and_the_row_says_so(
    light_cluster: Cluster, held: HeldLease, job: Job
) -> None:
    deletions = JobFileDeletions(light_cluster)
    advance_until_idle(deletions, held)
    deletions.close()
    assert not folder_of(light_cluster, job).exists() and folder_of(light_cluster, job).parent.is_dir()
    assert deletions.in_progress == {}
    assert file_deletions.list_pending_deletions(light_cluster) == []
    with light_cluster.store.read() as session:
        assert session.get_one(Job, job.id).files_deleted_at == light_cluster.clock()


def test_what_cannot_be_deleted_is_tried_again(
    light_cluster: Cluster, held: HeldLease, job: Job, tmp_path: Path
) -> None:
    """`jobs` leads out of the storage: nobody follows it."""
    jobs = folder_of(light_cluster, job).parent
    jobs.rename(tmp_path / "aside")
    jobs.symlink_to(tmp_path / "aside")
    deletions = JobFileDeletions(light_cluster)
    advance_until_idle(deletions, held)
    assert (tmp_path / "aside" / str(job.id)).is_dir()
    assert [each.job_id for each in file_deletions.list_pending_deletions(light_cluster)] == [job.id]
    assert list(deletions.in_progress) == [job.id]
    jobs.unlink()
    (tmp_path / "aside").rename(jobs)
    deletions.in_progress[job.id].exception(timeout=30)
    advance_until_idle(deletions, held)
    advance_until_idle(deletions, held)
    deletions.close()
    assert not folder_of(light_cluster, job).exists()


def test_a_workspace_without_a_folder_has_nothing_to_delete(tmp_path: Path) -> None:
    pending = PendingFileDeletion(job_id=7, workspace_id=3)
    delete_job_folder(tmp_path, pending)
    assert list(tmp_path.iterdir()) == []
