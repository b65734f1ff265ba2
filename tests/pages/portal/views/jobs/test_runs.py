"""Jobs that are chosen in the list are compared, stopped, run again, tagged, and lose their files; views are saved."""

import html
import re

import pytest
from sqlalchemy import select

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.states import JobState
from cluster.store.jobs import Job, headline_columns
from tests.builders import a_job
from tests.pages.portal.pages_lab import Lab, metric_row


def an_ended_job(lab: Lab, accuracy: float, rate: float, name: str) -> Job:
    job = lab.a_running_job(
        name=name,
        variables={"learning_rate": rate, "epochs": 3},
        results={"accuracy/validation": [0.1, accuracy, accuracy / 2]},
        fence=1,
        **headline_columns(HeadlineMetric("accuracy/validation", accuracy, is_best=True)),
    )
    (lab.out(job) / "metrics.jsonl").write_text(
        metric_row(1, 1.0, 10.0, accuracy__validation=0.1)
        + metric_row(2, 2.0, 70.0, accuracy__validation=accuracy)
    )
    lab.ended(job, "exit.finished", JobState.FINISHED)
    return job


def names_in_order(page: str) -> list[str]:
    return re.findall(r'class="job-name"><a href="/jobs/\d+">(?:<span[^>]*>)?([^<]+)<', page)


def test_the_list_is_searched_ordered_and_filtered_by_its_address(lab: Lab) -> None:
    for accuracy, name in ((0.7, "middle"), (0.9, "good"), (0.5, "bad")):
        an_ended_job(lab, accuracy, 0.1, name)
    browser = lab.browser(lab.seoyeon)
    assert names_in_order(browser.get("/jobs").text) == ["bad", "good", "middle"]
    assert names_in_order(browser.get("/jobs?order=best").text) == ["good", "middle", "bad"]
    assert names_in_order(browser.get("/jobs?order=worst&q=d").text) == ["bad", "middle", "good"]
    assert names_in_order(browser.get("/jobs?q=goo").text) == ["good"]
    assert names_in_order(browser.get("/jobs?metric=bleu").text) == []
    assert browser.get("/jobs?order=odd").status_code == 422


def test_chosen_jobs_are_compared_side_by_side(lab: Lab) -> None:
    good, bad = an_ended_job(lab, 0.9, 0.1, "good"), an_ended_job(lab, 0.5, 0.2, "bad")
    browser = lab.browser(lab.minjun)
    page = html.unescape(browser.get(f"/jobs/compare?job={good.id}&job={bad.id}").text)
    assert "2 jobs compared" in page
    rate = re.search(r"<tr><th[^>]*><b>learning_rate</b>.*?</tr>", page, re.DOTALL)
    assert rate and re.findall(r'number">([^<]+)<', rate[0]) == ["0.1", "0.2"]
    accuracy = re.search(r"<tr><th[^>]*>val accuracy.*?</tr>", page, re.DOTALL)
    assert accuracy and "90.0 %" in accuracy[0] and "50.0 %" in accuracy[0]
    assert accuracy[0].index("trophy") < accuracy[0].index("90.0 %")
    assert "1 parameter is the same in all" in page
    curves = browser.get(f"/jobs/compare/metrics?job={good.id},{bad.id}").json["series"]
    assert curves[f"{good.id}:accuracy/validation"] == [[1, 2], [0.1, 0.9]]
    assert set(curves) == {f"{good.id}:accuracy/validation", f"{bad.id}:accuracy/validation"}


def test_own_code_of_two_versions_is_compared_line_by_line(lab: Lab) -> None:
    code = (
        lab.cluster.settings.storage_dir
        / "workspaces"
        / str(lab.workspace.id)
        / "code"
        / str(lab.own_code.id)
    )
    for version, line in ((1, "lr = 0.1"), (2, "lr = 0.2")):
        (code / str(version)).mkdir(parents=True, exist_ok=True)
        (code / str(version) / "train.py").write_text(f"import torch\n{line}\n")
    jobs = [lab.a_running_job(lab.own_code, name=f"v{version}", code_version=version) for version in (1, 2)]
    page = html.unescape(
        lab.browser(lab.seoyeon).get(f"/jobs/compare?job={jobs[0].id}&job={jobs[1].id}").text
    )
    assert "-lr = 0.1\n+lr = 0.2" in page
    assert "-import torch" not in page


def test_nobody_compares_what_he_may_not_see(lab: Lab) -> None:
    hidden, seen = lab.a_running_job(lab.private), a_job(lab.cluster, lab.lenet)
    browser = lab.browser(lab.minjun)
    for path in (
        "/jobs/compare",
        "/jobs/compare/metrics",
        "/jobs/stop",
        "/jobs/rerun",
        "/jobs/tags",
        "/jobs/files/delete",
    ):
        assert browser.get(f"{path}?job={hidden.id}&job={seen.id}").status_code == 404
        assert browser.get(path).status_code == 422
        assert browser.get(f"{path}?job=x").status_code == 422


@pytest.mark.parametrize("language", ["en", "ko"])
def test_chosen_jobs_are_stopped_after_a_question(lab: Lab, language: str) -> None:
    jobs = [a_job(lab.cluster, lab.lenet, lab.seoyeon) for _ in range(2)]
    ids = f"{jobs[0].id},{jobs[1].id}"
    browser = lab.browser(lab.seoyeon, language)
    page = browser.get(f"/jobs/stop?job={jobs[0].id}&job={jobs[1].id}").text
    assert f'name="job" value="{ids}"' in page
    assert browser.post("/jobs/stop", data={"job": ids}).status_code == 303
    with lab.cluster.store.read() as session:
        states = session.scalars(select(Job.state).where(Job.id.in_([job.id for job in jobs])))
        assert set(states) == {JobState.STOPPED}
    assert browser.post("/jobs/stop", data={"job": ids}).status_code == 303


def test_another_person_may_not_stop_them(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.lenet, lab.seoyeon)
    browser = lab.browser(lab.minjun)
    assert "You may not stop all of them" in browser.get(f"/jobs/stop?job={job.id}").text
    assert browser.post("/jobs/stop", data={"job": str(job.id)}).status_code == 403


def test_a_chosen_job_runs_again(lab: Lab) -> None:
    job = an_ended_job(lab, 0.9, 0.1, "good")
    browser = lab.browser(lab.minjun)
    assert "Submit 1 job" in browser.get(f"/jobs/rerun?job={job.id}").text
    answer = browser.post("/jobs/rerun", data={"job": str(job.id)})
    with lab.cluster.store.read() as session:
        newest = session.scalars(select(Job).order_by(Job.id.desc())).first()
        assert newest is not None
        assert answer.headers["Location"].endswith(f"/jobs/{newest.id}")
        assert (newest.name, newest.user_id, newest.variables["learning_rate"]) == (
            "good",
            lab.minjun.id,
            0.1,
        )


def test_tags_and_a_note_are_written_and_filter_the_list(lab: Lab) -> None:
    job, other = an_ended_job(lab, 0.9, 0.1, "good"), an_ended_job(lab, 0.5, 0.1, "bad")
    browser = lab.browser(lab.seoyeon)
    data = {"job": str(job.id), "add": "Baseline, paper", "remove": "", "note": "table 2", "with_note": "1"}
    assert browser.post("/jobs/tags", data=data).status_code == 303
    assert names_in_order(browser.get("/jobs?tag=baseline").text) == ["good"]
    page = browser.get(f"/jobs/{job.id}").text
    assert "table 2" in page and ">paper<" in page
    refused = browser.post("/jobs/tags", data={"job": str(other.id), "add": "a/b", "note": "kept"})
    assert refused.status_code == 422
    assert "is not a valid tag" in html.unescape(refused.text) and "kept" in refused.text


def test_the_files_of_chosen_jobs_are_deleted_after_a_question(lab: Lab) -> None:
    job, running = an_ended_job(lab, 0.9, 0.1, "good"), lab.a_running_job()
    browser = lab.browser(lab.seoyeon)
    assert "cannot be deleted" in browser.get(f"/jobs/files/delete?job={job.id},{running.id}").text
    assert "Keep them" in browser.get(f"/jobs/files/delete?job={job.id}").text
    assert browser.post("/jobs/files/delete", data={"job": str(job.id)}).status_code == 303
    with lab.cluster.store.read() as session:
        assert session.get_one(Job, job.id).files_unwanted_at is not None


def test_a_view_of_the_list_is_saved_and_deleted(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    answer = browser.post("/jobs/views", data={"name": "my best", "query": "order=best&q=lenet"})
    assert answer.headers["Location"] == "/jobs?order=best&q=lenet"
    page = browser.get("/jobs").text
    assert "my best" in page
    (view_id,) = re.findall(r"/jobs/views/(\d+)/delete", browser.get("/jobs?views=edit").text)
    assert "my best" not in lab.browser(lab.minjun).get("/jobs").text
    assert lab.browser(lab.minjun).post(f"/jobs/views/{view_id}/delete").status_code == 404
    assert browser.post(f"/jobs/views/{view_id}/delete").status_code == 303
    assert "my best" not in browser.get("/jobs").text
