"""Rows of jobs say what is the case with each."""

from datetime import timedelta
from html import unescape

from sqlalchemy import update

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.states import JobState
from cluster.store.jobs import Attempt, JobTag, headline_columns
from cluster.words import sentence
from portal.presenters.jobs.job_rows import without_those_in_name
from tests.builders import a_job, add
from tests.pages.portal.pages_lab import Lab


def test_each_row_says_why_its_job_waits_or_how_it_ended(lab: Lab) -> None:
    waiting = a_job(lab.cluster, lab.lenet, held_at=lab.cluster.clock(), held_by=lab.manager.id)
    lab.ended(failed := lab.a_running_job(), "exit.command_not_found", command="train.py")
    finished = a_job(lab.cluster, lab.lenet, state=JobState.FINISHED, end_code="exit.finished")
    rows = lab.browser(lab.seoyeon).get("/jobs").text.split("<tr")
    said = {
        job.id: next(row for row in rows if f'href="/jobs/{job.id}"' in row)
        for job in (waiting, failed, finished)
    }
    assert f"Held by {lab.manager.name} since 14:00" in said[waiting.id]
    assert sentence("exit.command_not_found", {"command": "train.py"}) in unescape(said[failed.id])
    assert '<span class="now-words"></span>' in said[finished.id]


def test_a_row_shows_the_headline_metric_how_far_it_is_and_what_differs(lab: Lab) -> None:
    running = lab.a_running_job(
        name="wide",
        variables={"learning_rate": 0.1, "epochs": 3},
        fence=1,
        note="for the paper",
        **headline_columns(HeadlineMetric("accuracy/validation", 0.9836, is_best=True)),
    )
    other = a_job(lab.cluster, lab.lenet, variables={"learning_rate": 0.2, "epochs": 3})
    add(lab.cluster, JobTag(tag="keep", job_id=running.id))
    ends_at = lab.cluster.clock() + timedelta(minutes=6)
    with lab.cluster.store.write() as session:
        told = {"progress": 0.4, "expected_end_at": ends_at}
        session.execute(update(Attempt).where(Attempt.job_id == running.id).values(**told))
    row = row_of(lab, running.id)
    assert "<b>98.3 %</b>" in row and "val accuracy · best" in row
    assert "40 %" in row and "ends about 14:06" in row
    assert "learning_rate 0.1" in row and "epochs" not in row
    assert 'href="/jobs?tag=keep"' in row and "for the paper" in row
    assert "learning_rate 0.2" in row_of(lab, other.id)
    assert "98.3 % (최고)" in lab.browser(lab.seoyeon, "ko").get("/").text


def test_values_that_stand_in_the_name_are_not_repeated() -> None:
    parameters = {"lr": "0.1", "batch": "32"}
    assert without_those_in_name(parameters, "lenet-lr=0.1-seed=3") == {"batch": "32"}


def row_of(lab: Lab, job_id: int) -> str:
    rows = unescape(lab.browser(lab.seoyeon).get("/jobs").text).split("<tr")
    return next(row for row in rows if f'href="/jobs/{job_id}"' in row)
