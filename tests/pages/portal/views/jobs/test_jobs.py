"""A job's page in each of its states, its numbers, stopping it, and the list."""

import itertools
import json
import re
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from cluster.domain.states import JobState
from cluster.services.jobs import queries
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Node
from cluster.store.workspaces import Workspace
from tests.builders import a_job, actor_of
from tests.pages.portal.pages_lab import Lab, metric_row

TABS = ["overview", "log", "checkpoints", "settings", "history"]


def write_metrics(lab: Lab, job: Job, epochs: int, total: int = 10) -> None:
    """Two rows an epoch, a minute each, the last one now."""
    begin = lab.cluster.clock().timestamp() - epochs * 60
    with (lab.out(job) / "metrics.jsonl").open("w") as file:
        for epoch in range(1, epochs + 1):
            time = begin + epoch * 60
            file.write(metric_row(epoch * 10, epoch, time, loss__train=1 / epoch, epochs=total))
            file.write(metric_row(epoch * 10, epoch, time, accuracy__validation=1 - 0.5 / epoch))


def note_end(lab: Lab, job: Job, minutes: int) -> None:
    """As the scheduler does for a job that says how fast it gets on."""
    ends_at = lab.cluster.clock() + timedelta(minutes=minutes)
    told = {"progress": 0.4, "expected_end_at": ends_at, "earliest_end_at": ends_at, "latest_end_at": ends_at}
    with lab.cluster.store.write() as session:
        session.execute(update(Attempt).where(Attempt.job_id == job.id).values(**told))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_tab_of_a_job_that_waits_runs_or_ended(lab: Lab, language: str) -> None:
    waiting = a_job(lab.cluster, lab.lenet, waiting_code="waiting.quota_used",
                    waiting_data={"quota": 2, "used": 2, "needed": 1, "kind": "cpu_slot"})  # fmt: skip
    running = lab.a_running_job()
    write_metrics(lab, running, 4)
    ended = lab.a_running_job()
    lab.ended(ended, "exit.command_not_found", exit_code=127)
    browser = lab.browser(lab.seoyeon, language)
    for job, tab in itertools.product((waiting, running, ended), TABS):
        answer = browser.get(f"/jobs/{job.id}?tab={tab}")
        assert answer.status_code == 200
        assert "exit.command" not in answer.text and "waiting.quota" not in answer.text
        piece = browser.get(f"/jobs/{job.id}?tab={tab}", headers={"HX-Request": "true"})
        assert piece.status_code == 200
        assert "<html" not in piece.text
        assert "HX-Request" in piece.headers["Vary"]


def test_the_head_says_how_far_it_is_and_when_it_ends(lab: Lab) -> None:
    job = lab.a_running_job()
    write_metrics(lab, job, 4)
    note_end(lab, job, 6)
    html = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text
    assert "Epoch 4 of 10" in html
    assert "6 min left · about <time " in html and ">14:06</time>" in html
    assert "87.5 %" in html
    assert "CPU slot hours" in html


def test_the_head_alone_is_a_piece_for_the_live_page(lab: Lab) -> None:
    job = lab.a_running_job()
    for fragment in ("head", "facts"):
        answer = lab.browser(lab.seoyeon).get(
            f"/jobs/{job.id}?fragment={fragment}", headers={"HX-Request": "true"}
        )
        assert answer.status_code == 200
        assert "<html" not in answer.text
    assert lab.browser(lab.seoyeon).get(f"/jobs/{job.id}?fragment=other").status_code in (200, 422)


def test_an_ended_job_says_why_and_what_to_do(lab: Lab) -> None:
    job = lab.a_running_job()
    lab.ended(job, "exit.command_not_found", exit_code=127)
    html = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text
    assert "Exit code 127: command or path not found." in html
    assert "spelling" in html
    assert f"/jobs/{job.id}/stop" not in html


def test_the_page_says_when_the_program_could_have_written_its_own_result(lab: Lab) -> None:
    job = lab.a_running_job()
    control = lab.out(job).parent / "control"
    browser = lab.browser(lab.seoyeon)
    plan = {"argv": ["python", "a b.py"], "environment": {"GROUNDCREW_JOB": "1"}, "uid": None, "cwd": "/x"}
    (control / "plan.json").write_text(json.dumps(plan))
    html = browser.get(f"/jobs/{job.id}?tab=settings").text
    assert "for people you trust" in html
    assert "python &#39;a b.py&#39;" in html
    (control / "plan.json").write_text(json.dumps(plan | {"uid": 100_003, "gid": 100_001}))
    html = browser.get(f"/jobs/{job.id}?tab=settings").text
    assert "for people you trust" not in html
    assert "numeric user 100003, group 100001" in html
    (control / "plan.json").write_text(json.dumps(plan | {"container": "gc-image:1"}))
    html = browser.get(f"/jobs/{job.id}?tab=settings").text
    assert "for people you trust" not in html
    assert "It ran in a container of the image gc-image:1." in html
    assert "could have written its own result" in html


def test_a_rehearsed_job_says_that_nothing_runs(lab: Lab) -> None:
    job = lab.a_running_job()
    browser = lab.browser(lab.seoyeon)
    assert "simulated: nothing runs" not in browser.get(f"/jobs/{job.id}").text
    with lab.cluster.store.write() as session:
        session.scalars(select(Attempt).where(Attempt.job_id == job.id)).one().handle = {"simulated": True}
    assert "simulated: nothing runs" in browser.get(f"/jobs/{job.id}").text


def test_stopping_says_what_ends_and_asks_first(lab: Lab) -> None:
    job = lab.a_running_job()
    browser = lab.browser(lab.seoyeon)
    html = browser.get(f"/jobs/{job.id}/stop").text
    assert "what was learned is lost" in html
    assert f"Stop job-{job.id}" in html
    assert queries.read_job(lab.cluster, actor_of(lab.seoyeon), job.id).state is JobState.RUNNING
    answer = browser.post(f"/jobs/{job.id}/stop")
    assert answer.status_code == 303
    assert queries.read_job(lab.cluster, actor_of(lab.seoyeon), job.id).state is JobState.STOPPING
    page = browser.get(answer.location).text
    assert "being stopped" in page
    lab.ended(job, "exit.stopped", JobState.STOPPED, by="seoyeon", rank=1)
    page = browser.get(answer.location).text
    assert "Stopped by seoyeon." in page
    assert "being stopped" not in page and "first to fail" not in page


def test_who_may_see_a_job_but_not_stop_it_is_told_who_may(lab: Lab) -> None:
    job = lab.a_running_job()
    browser = lab.browser(lab.minjun)
    assert f"/jobs/{job.id}/stop" not in browser.get(f"/jobs/{job.id}").text
    html = browser.get(f"/jobs/{job.id}/stop").text
    assert "seoyeon" in html and '<button class="btn btn-danger"' not in html
    assert browser.post(f"/jobs/{job.id}/stop").status_code == 403


def test_a_job_that_has_ended_meanwhile_is_not_stopped_and_says_so(lab: Lab) -> None:
    job = lab.a_running_job()
    lab.ended(job, "exit.finished", JobState.FINISHED)
    answer = lab.browser(lab.seoyeon).post(f"/jobs/{job.id}/stop")
    assert answer.status_code == 409
    assert "ended already" in answer.text


def test_the_list_filters_by_its_address_and_goes_on_in_pages(lab: Lab) -> None:
    for number in range(53):
        a_job(lab.cluster, lab.lenet, name=f"many-{number}")
    lab.a_running_job(name="the-running-one")
    browser = lab.browser(lab.seoyeon)
    first = browser.get("/jobs").text
    assert first.count('<tr class="mine">') == 50
    older = re.search(r'href="([^"]*before=[^"]*)"', first)
    assert older
    assert browser.get(older[1].replace("&amp;", "&")).text.count('<tr class="mine">') == 4
    assert "the-running-one" in browser.get("/jobs?state=running").text
    assert "the-running-one" not in browser.get("/jobs?state=waiting").text
    assert "No job matches" in browser.get("/jobs?state=failed").text
    assert "No job matches" in browser.get(f"/jobs?user={lab.minjun.id}").text


@pytest.mark.parametrize("query", ["state=odd", "workspace=x", "training=-1", "user=1.0", "before=NaN"])
def test_a_bad_filter_is_refused(lab: Lab, query: str) -> None:
    assert lab.browser(lab.seoyeon).get(f"/jobs?{query}").status_code == 422


def test_jobs_of_a_private_training_are_in_no_strangers_list(lab: Lab) -> None:
    lab.a_running_job(lab.private, name="my-idea")
    for path in ("/jobs", "/queue", "/trainings", f"/jobs?training={lab.private.id}"):
        assert "my-idea" not in lab.browser(lab.minjun).get(path).text
        assert "private-idea" not in lab.browser(lab.minjun).get(path).text
    assert "my-idea" in lab.browser(lab.seoyeon).get("/jobs").text


def test_the_queue_tells_the_order_the_reason_and_what_would_help(lab: Lab) -> None:
    lab.a_running_job(lab.private, units=1)
    job = a_job(lab.cluster, lab.lenet, units=2, name="wide")
    browser = lab.browser(lab.minjun)
    html = browser.get("/queue").text
    assert f"job-{job.id}" in html
    assert "a job that you may not see" in html
    opened = browser.get(f"/queue?open={job.id}").text
    assert "1 short" in opened
    assert "With 1 CPU slot it starts now" in opened
    assert browser.get("/queue?open=999").status_code == 200
    assert browser.get("/queue?open=x").status_code == 422


def test_the_queue_and_the_job_page_expect_the_same_end(lab: Lab) -> None:
    job = lab.a_running_job(time_limit_seconds=7200)
    write_metrics(lab, job, 4)
    note_end(lab, job, 6)
    browser = lab.browser(lab.seoyeon)
    assert ">14:06</time>" in browser.get(f"/jobs/{job.id}").text
    queue = browser.get("/queue").text
    assert "14:06" in queue and "15:53" not in queue


def test_when_no_workspace_holds_units_the_dashboard_offers_to_make_one(lab: Lab) -> None:
    browser = lab.browser(lab.administrator)
    assert "No workspace holds units now" not in browser.get("/").text
    with lab.cluster.store.write() as session:
        for workspace in session.query(Workspace):
            workspace.ended_at = lab.cluster.clock()
    assert "No workspace holds units now" in browser.get("/").text


def test_the_way_through_the_queue_is_followed_by_the_graphs(lab: Lab) -> None:
    """An open page of a waiting job asks for its overview again; that of one which runs has graphs and asks no more."""
    browser = lab.browser(lab.seoyeon)
    waiting, running = a_job(lab.cluster, lab.lenet), lab.a_running_job()
    asks = "fragment=overview"
    piece = browser.get(f"/jobs/{waiting.id}?{asks}", headers={"HX-Request": "true"}).text
    assert asks in piece and "Queue history" in piece
    piece = browser.get(f"/jobs/{running.id}?{asks}", headers={"HX-Request": "true"}).text
    assert asks not in piece and "data-charts" in piece


def test_a_running_job_shows_what_its_gpus_do(lab: Lab) -> None:
    job = lab.a_running_job(units=2)
    first, second = lab.node.units[:2]
    load = {first.identity: {"percent": 3, "memory_used_bytes": 2**30, "temperature": 41, "power": 60}}
    facts = {"gpu_load": load | {second.identity: {"percent": 97}}}
    with lab.cluster.store.write() as session:
        session.get_one(Node, lab.node.id).facts = facts
    address = f"/jobs/{job.id}?tab=settings&fragment=facts"
    page = lab.browser(lab.minjun).get(address, headers={"HX-Request": "true"}).text
    assert "GPUs now" in page and "1.0 GiB · 41 °C · 60 W" in page
    assert [share for share in ("3 %", "97 %") if share in page] == ["3 %", "97 %"]
    with lab.cluster.store.write() as session:
        session.get_one(Node, lab.node.id).heartbeat_at = lab.cluster.clock() - timedelta(minutes=2)
    assert "GPUs now" not in lab.browser(lab.minjun).get(address, headers={"HX-Request": "true"}).text
