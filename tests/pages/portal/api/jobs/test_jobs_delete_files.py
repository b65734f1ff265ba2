"""Deleting files of jobs over REST and with the command."""

from datetime import timedelta

import pytest

from cluster.domain.states import JobState
from cluster.services.jobs import file_deletions
from cluster.store.jobs import Job
from tests.builders import a_job, a_user
from tests.pages.portal.command_lab import Run, run
from tests.pages.portal.rest_lab import Lab

__all__ = ["run"]


def ended(lab: Lab, **columns: object) -> Job:
    return a_job(
        lab.cluster,
        lab.training,
        lab.member,
        state=JobState.FAILED,
        fence=1,
        storage_bytes=5 * 2**30,
        **columns,
    )


def is_unwanted(lab: Lab, *jobs: Job) -> bool:
    return {job.job_id for job in file_deletions.list_pending_deletions(lab.cluster)} == {
        job.id for job in jobs
    }


def mark_deleted(lab: Lab, job: Job) -> None:
    with lab.cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.files_deleted_at = lab.cluster.clock() + timedelta(minutes=1)


def test_one_jobs_files_are_deleted_and_its_row_says_so(lab: Lab) -> None:
    job, headers = ended(lab), lab.headers()
    before = lab.client.get(f"/api/v1/jobs/{job.id}", headers=headers).json
    assert (before["storage_bytes"], before["files_deleted"]) == (5 * 2**30, None)
    asked = lab.client.delete(f"/api/v1/jobs/{job.id}/files", headers=headers)
    assert (asked.status_code, asked.json["files_deleted"]["code"]) == (202, "job.files_going")
    assert is_unwanted(lab, job)
    mark_deleted(lab, job)
    after = lab.client.get(f"/api/v1/jobs/{job.id}", headers=headers).json
    assert after["files_deleted"]["code"] == "job.files_deleted"
    assert "minji" in after["files_deleted"]["sentence"]
    log = lab.client.get(f"/api/v1/jobs/{job.id}/log", headers=headers)
    assert (log.status_code, log.json["code"]) == (410, "job.files_deleted")


def test_several_are_deleted_or_none(lab: Lab) -> None:
    first, second = ended(lab), ended(lab)
    running = a_job(lab.cluster, lab.training, lab.member, state=JobState.RUNNING, fence=1)
    ask = {"job_ids": [first.id, running.id, second.id]}
    refused = lab.client.post("/api/v1/jobs/delete-files", json=ask, headers=lab.headers())
    assert (refused.status_code, refused.json["code"]) == (409, "job.files_of_living")
    assert is_unwanted(lab)
    ask = {"job_ids": [first.id, second.id]}
    done = lab.client.post("/api/v1/jobs/delete-files", json=ask, headers=lab.headers())
    assert done.status_code == 202
    assert [item["id"] for item in done.json["items"]] == [first.id, second.id]
    assert is_unwanted(lab, first, second)


@pytest.mark.parametrize("job_ids", [[], [0], ["1"], list(range(1, 300)), None])
def test_what_is_no_list_of_jobs_names_the_field(lab: Lab, job_ids: object) -> None:
    body = {} if job_ids is None else {"job_ids": job_ids}
    answer = lab.client.post("/api/v1/jobs/delete-files", json=body, headers=lab.headers())
    assert answer.status_code == 422
    assert answer.json["errors"][0]["pointer"].startswith("/job_ids")


def test_others_and_tokens_that_read_delete_nothing(lab: Lab) -> None:
    job = ended(lab)
    stranger = lab.headers(a_user(lab.cluster))
    assert lab.client.delete(f"/api/v1/jobs/{job.id}/files", headers=stranger).status_code == 404
    reading = lab.headers(scopes=("read",))
    assert lab.client.delete(f"/api/v1/jobs/{job.id}/files", headers=reading).status_code == 403
    assert is_unwanted(lab)


def test_the_command_names_what_goes_and_asks(lab: Lab, run: Run) -> None:
    first, second = ended(lab, name="first"), ended(lab, name="second")
    declined = run("job", "delete-files", f"job-{first.id}", str(second.id), expected=1)
    assert f"job-{first.id}  first  5.0 GiB" in declined.output
    assert is_unwanted(lab)
    run("job", "delete-files", "--yes", f"job-{first.id}", str(second.id))
    assert is_unwanted(lab, first, second)
    mark_deleted(lab, first)
    assert "were deleted by minji" in run("job", "show", str(first.id)).output
    assert "were deleted by minji" in run("job", "logs", str(first.id), expected=4).output
    run("job", "delete-files", "--yes", "everything", expected=2)
