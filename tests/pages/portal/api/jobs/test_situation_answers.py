"""REST says in one answer what a job does and why."""

from typing import Any

from cluster.domain.states import JobState
from tests.builders import a_job
from tests.pages.portal.rest_lab import Lab


def read_situation(lab: Lab, job_id: int) -> Any:
    return lab.client.get(f"/api/v1/jobs/{job_id}/why", headers=lab.headers()).json


def test_a_waiting_job_says_why_it_waits(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.training, lab.member)
    answer = read_situation(lab, job.id)
    assert answer["state"] == "waiting" and answer["reason"]


def test_a_job_that_has_ended_says_how(lab: Lab) -> None:
    job = a_job(
        lab.cluster, lab.training, lab.member, state=JobState.FAILED,
        end_code="exit.command_not_found", end_data={"command": "train.py"},
    )  # fmt: skip
    answer = read_situation(lab, job.id)
    assert answer["state"] == "failed"
    assert answer["reason"]["code"] == "exit.command_not_found"
