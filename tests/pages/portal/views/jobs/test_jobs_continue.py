"""A stopped or failed job is continued from its newest checkpoint."""

import json

import pytest

from cluster.domain.states import JobState
from cluster.services.jobs import queries
from cluster.store.jobs import Job
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab


@pytest.fixture
def stopped(lab: Lab) -> Job:
    job = lab.a_running_job(fence=1, variables={"epochs": "5"})
    folder = lab.out(job) / "checkpoints"
    folder.mkdir()
    (folder / "epoch-0003.weights.h5").write_bytes(b"w")
    (folder / "epoch-0003.json").write_text(json.dumps({"epoch": 3, "step": 30}))
    lab.ended(job, "exit.stopped", JobState.STOPPED)
    return job


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_stopped_job_is_continued(lab: Lab, stopped: Job, language: str) -> None:
    browser = lab.browser(lab.minjun, language)
    path = f"/jobs/{stopped.id}/continue"
    assert path in browser.get(f"/jobs/{stopped.id}").text
    page = browser.get(path).text
    assert "epoch-0003.weights.h5" in page and f'action="{path}"' in page
    answer = browser.post(path, data={"name": "once-more"})
    assert answer.status_code == 303
    made = queries.read_job(lab.cluster, actor_of(lab.minjun), int(answer.location.rsplit("/", 1)[1]))
    assert (made.name, made.continues_job_id, made.user_id) == ("once-more", stopped.id, lab.minjun.id)
    assert made.variables["epochs"] == 5


def test_what_cannot_be_continued_says_so_and_has_no_button(lab: Lab, stopped: Job) -> None:
    running = lab.a_running_job(fence=1)
    browser = lab.browser(lab.seoyeon)
    assert f"/jobs/{running.id}/continue" not in browser.get(f"/jobs/{running.id}").text
    page = browser.get(f"/jobs/{running.id}/continue").text
    assert 'action="' not in page.split("<main")[1]
    assert browser.post(f"/jobs/{running.id}/continue").status_code == 422
    refused = browser.post(f"/jobs/{stopped.id}/continue", data={"name": "Two Words"})
    assert refused.status_code == 422 and "Two Words" in refused.text
    assert lab.browser(lab.stranger).post(f"/jobs/{stopped.id}/continue").status_code == 404
