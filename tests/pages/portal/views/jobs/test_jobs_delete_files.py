"""Deleting the files of a job: the page before it, what every tab says afterwards, and sizes in the list."""

import itertools
from datetime import timedelta

import pytest
from sqlalchemy import update

from cluster.services.jobs import file_deletions
from cluster.store.jobs import Job
from cluster.store.users import User
from tests.builders import a_job, actor_of
from tests.pages.portal.pages_lab import Lab

GB = 1000**3
SIZE = "2.8 GiB"


@pytest.fixture
def ended(lab: Lab) -> Job:
    """With a log, a checkpoint and the size of both."""
    job = lab.a_running_job(fence=1)
    (lab.out(job) / "rank-0.stdout").write_text("once\n")
    (lab.out(job) / "checkpoints").mkdir()
    (lab.out(job) / "checkpoints" / "epoch-0001.weights.h5").write_bytes(b"w")
    lab.ended(job, "exit.error", exit_code=1)
    change(lab, job, storage_bytes=3 * GB)
    return job


def change(lab: Lab, job: Job, **columns: object) -> None:
    with lab.cluster.store.write() as session:
        session.execute(update(Job).where(Job.id == job.id).values(**columns))


def delete(lab: Lab, job: Job, who: User, is_done: bool = True) -> None:
    file_deletions.request_file_deletion(lab.cluster, actor_of(who), [job.id])
    if is_done:
        change(lab, job, files_deleted_at=lab.cluster.clock() + timedelta(minutes=1))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_before_says_what_goes_and_what_stays(lab: Lab, ended: Job, language: str) -> None:
    browser = lab.browser(lab.seoyeon, language)
    assert f"/jobs/{ended.id}/files/delete" in browser.get(f"/jobs/{ended.id}").text
    page = browser.get(f"/jobs/{ended.id}/files/delete").text
    assert SIZE in page and f'action="/jobs/{ended.id}/files/delete"' in page
    answer = browser.post(f"/jobs/{ended.id}/files/delete")
    assert (answer.status_code, answer.location) == (303, f"/jobs/{ended.id}")
    asked = browser.get(f"/jobs/{ended.id}").text
    assert f"/jobs/{ended.id}/files/delete" not in asked and "job.files_" not in asked
    assert 'action="' not in browser.get(f"/jobs/{ended.id}/files/delete").text.split("<main")[1]


def test_who_may_not_and_what_lives_or_never_began_has_no_button(lab: Lab, ended: Job) -> None:
    running, waiting = lab.a_running_job(fence=1), a_job(lab.cluster, lab.lenet)
    for who, job in ((lab.minjun, ended), (lab.seoyeon, running), (lab.seoyeon, waiting)):
        browser = lab.browser(who)
        assert f"/jobs/{job.id}/files/delete" not in browser.get(f"/jobs/{job.id}").text
        page = browser.get(f"/jobs/{job.id}/files/delete")
        assert page.status_code == 200 and "btn-danger" not in page.text
    refused = lab.browser(lab.seoyeon).post(f"/jobs/{running.id}/files/delete")
    assert refused.status_code == 409 and "has not ended" in refused.text
    assert lab.browser(lab.minjun).post(f"/jobs/{ended.id}/files/delete").status_code == 403


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("is_done", [False, True])
def test_every_tab_says_who_has_deleted_them_and_when(
    lab: Lab, ended: Job, language: str, is_done: bool
) -> None:
    delete(lab, ended, lab.manager, is_done)
    browser = lab.browser(lab.seoyeon, language)
    for tab in ("overview", "log", "checkpoints", "settings", "history"):
        page = browser.get(f"/jobs/{ended.id}?tab={tab}").text
        assert "jisoo" in page and ("14:01" in page if is_done else "14:00" in page)
    piece = browser.get(f"/jobs/{ended.id}?tab=log", headers={"HX-Request": "true"})
    went = {"en": "It went with the files of this job.", "ko": "이 작업의 파일과 함께 지워졌습니다."}[
        language
    ]
    assert went in piece.text and "job.files_" not in piece.text
    assert "data-charts" not in browser.get(f"/jobs/{ended.id}").text


def test_log_and_checkpoint_are_gone_with_a_sentence(lab: Lab, ended: Job) -> None:
    browser = lab.browser(lab.seoyeon)
    names = ("log/raw", "log/download", "checkpoints/epoch-0001.weights.h5")
    for name, is_there in itertools.product(names, (True, False)):
        if not is_there and name == names[0]:
            delete(lab, ended, lab.manager)
        answer = browser.get(f"/jobs/{ended.id}/{name}")
        answer.close()
        if file_deletions.has_files(read(lab, ended)):
            assert answer.status_code == 200
        else:
            assert answer.status_code == 410
            assert "were deleted by jisoo" in answer.text


def read(lab: Lab, job: Job) -> Job:
    with lab.cluster.store.read() as session:
        return session.get_one(Job, job.id)


def test_the_list_shows_sizes_until_the_files_are_gone(lab: Lab, ended: Job) -> None:
    browser = lab.browser(lab.seoyeon)
    assert SIZE in browser.get("/jobs").text
    delete(lab, ended, lab.manager)
    assert SIZE not in browser.get("/jobs").text
