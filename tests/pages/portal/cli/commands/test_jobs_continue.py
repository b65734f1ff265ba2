"""REST and the command continue a job from its newest checkpoint, and run an older version of the code."""

import json

import pytest

from cluster.domain.states import JobState, Launcher, TrainingKind
from cluster.services.storage import folders
from cluster.store.jobs import Job
from tests.builders import a_code_version, a_job, a_training
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab

JOBS = "/api/v1/jobs"


@pytest.fixture
def failed(lab: Lab) -> Job:
    """Of the first of two versions."""
    training = a_training(lab.cluster, lab.workspace, lab.member, name="own", kind=TrainingKind.ADVANCED)
    for number in (1, 2):
        a_code_version(lab.cluster, training, [("train.py", b"1")], number)
    columns = {"launcher": Launcher.PLAIN, "command": ["train.py"], "code_version": 1, "fence": 1}
    job = a_job(lab.cluster, training, lab.member, state=JobState.FAILED, name="long", **columns)
    out = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job.id, 1) / "out/checkpoints"
    out.mkdir(parents=True)
    (out / "epoch-3.pt").write_bytes(b"w")
    (out / "epoch-3.json").write_text(json.dumps({"epoch": 3, "step": 30}))
    return job


def test_a_job_is_continued(lab: Lab, failed: Job) -> None:
    headers = lab.headers()
    dry = lab.client.post(f"{JOBS}?dry_run=true", json={"continue_from": failed.id}, headers=headers)
    assert dry.status_code == 200
    answer = lab.client.post(JOBS, json={"continue_from": failed.id}, headers=headers)
    assert (answer.status_code, answer.json["name"]) == (201, "long-continued")
    assert (answer.json["continues_job_id"], answer.json["code_version"]) == (failed.id, 1)
    (listed, _) = lab.client.get(JOBS, headers=headers).json["items"]
    assert (listed["continues_job_id"], listed["code_version"]) == (failed.id, 1)
    again = lab.client.post(JOBS, json={"continue_from": answer.json["id"]}, headers=headers)
    assert (again.status_code, again.json["code"]) == (409, "job.not_continuable")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({"units": 2}, "/units"), ({"training_id": 1}, "/training_id"), ({"code_version": 2}, "/code_version")],
)
def test_what_is_taken_over_is_not_said_twice(
    lab: Lab, failed: Job, body: dict[str, int], pointer: str
) -> None:
    answer = lab.client.post(JOBS, json={"continue_from": failed.id} | body, headers=lab.headers())
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, pointer)


def test_a_job_without_a_training_is_refused(lab: Lab) -> None:
    answer = lab.client.post(JOBS, json={"units": 1}, headers=lab.headers())
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "/training_id")


def test_an_older_version_is_run(lab: Lab, failed: Job) -> None:
    body = {"training_id": failed.training_id, "command": ["train.py"], "launcher": "plain"}
    newest = lab.client.post(JOBS, json=body, headers=lab.headers())
    older = lab.client.post(JOBS, json=body | {"code_version": 1}, headers=lab.headers())
    assert (newest.json["code_version"], older.json["code_version"]) == (2, 1)
    refused = lab.client.post(JOBS, json=body | {"code_version": 3}, headers=lab.headers())
    assert (refused.status_code, refused.json["errors"][0]["pointer"]) == (422, "/code_version")


def test_the_command_continues_a_job(failed: Job, run: Run) -> None:
    said = run("job", "continue", f"job-{failed.id}", "--name", "more").stdout.strip()
    row = json.loads(run("job", "show", said, "-o", "json").stdout)
    assert (row["continues_job_id"], row["name"]) == (failed.id, "more")
    run("job", "submit", "-t", "own", "--code-version", "1", "--", "train.py")
