"""The form's several values, the page of a sweep, its file and its end."""

import csv
import html
import io
import re

import pytest
from sqlalchemy import select

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import JobState, Launcher
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.sweeps import queries, submission
from cluster.store.jobs import Job, Sweep
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab, metric_row

LENET = {
    "name": "lenet",
    "dataset": "1",
    "units": "1",
    "kind": "grid",
    "variables.learning_rate": "0.1, 0.05\n0.01",
    "variables.batch_size": "32, 64",
    "variables.optimizer": ["", "adam"],
}
OWN = {
    "name": "own",
    "dataset": "",
    "units": "1",
    "launcher": "plain",
    "script": "train.py",
    "arguments": "--lr={lr}",
    "kind": "grid",
    "values": "lr = 0.1, 0.01\nn = 1..3\n4",
}


def a_sweep(lab: Lab, values: dict[str, str] | None = None, **changes: object) -> Sweep:
    job = JobRequest("lenet", 1, Launcher.HOROVOD, dataset_id=lab.dataset.id)
    request = SweepRequest(job, values or {"learning_rate": "0.1, 0.05, 0.01"}, **changes)  # type: ignore[arg-type]
    return submission.submit_sweep(lab.cluster, actor_of(lab.seoyeon), lab.lenet.id, request)


def jobs_of(lab: Lab, sweep: Sweep) -> list[Job]:
    with lab.cluster.store.read() as session:
        query = select(Job).where(Job.sweep_id == sweep.id).order_by(Job.sweep_number)
        return list(session.scalars(query))


def ended(lab: Lab, job: Job, results: dict[str, list[float]], state: JobState = JobState.FINISHED) -> None:
    with lab.cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.state, row.results, row.fence = state, results, 1
        row.started_at = row.ended_at = lab.cluster.clock()
    lab.out(job)


def test_an_empty_form_has_no_values_and_no_problem(lab: Lab) -> None:
    for training in (lab.lenet, lab.own_code):
        page = lab.browser(lab.seoyeon).get(f"/trainings/{training.id}/jobs/new").text
        assert "method" not in re.sub(r'method="\w+"', "", page)
        assert "-problem" not in page


def test_several_values_in_the_form_become_a_sweep(lab: Lab) -> None:
    data = LENET | {"most_at_once": "2", "stop_on_trouble": "1"}
    answer = lab.browser(lab.minjun).post(f"/trainings/{lab.lenet.id}/jobs/new", data=data)
    assert answer.status_code == 303, answer.text
    sweep = queries.read_sweep(lab.cluster, actor_of(lab.minjun), int(answer.location.rsplit("/", 1)[1]))
    assert answer.location.endswith(f"/sweeps/{sweep.id}")
    assert (sweep.jobs, sweep.most_at_once, sweep.stop_on_trouble) == (6, 2, True)
    assert jobs_of(lab, sweep)[0].name == "lenet-learning_rate=0.1-batch_size=32"


def test_ticked_choices_are_values(lab: Lab) -> None:
    data = LENET | {
        "variables.optimizer": ["", "adam", "sgd"],
        "variables.learning_rate": "0.1",
        "variables.batch_size": "32",
    }
    answer = lab.browser(lab.minjun).post(f"/trainings/{lab.lenet.id}/jobs/new", data=data)
    sweep = queries.read_sweep(lab.cluster, actor_of(lab.minjun), int(answer.location.rsplit("/", 1)[1]))
    assert [job.variables["optimizer"] for job in jobs_of(lab, sweep)] == ["adam", "sgd"]
    nothing = lab.browser(lab.minjun).post(
        f"/trainings/{lab.lenet.id}/jobs/new", data=LENET | {"variables.optimizer": ""}
    )
    assert nothing.status_code == 422


def test_own_code_has_a_line_for_each_parameter(lab: Lab) -> None:
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.own_code.id}/jobs/new", data=OWN)
    sweep = queries.read_sweep(lab.cluster, actor_of(lab.seoyeon), int(answer.location.rsplit("/", 1)[1]))
    made = jobs_of(lab, sweep)
    assert len(made) == 8
    assert made[3].command == ["train.py", "--lr=0.1", "--n", "4"]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_preview_lists_the_jobs_before_anything_is_made(lab: Lab, language: str) -> None:
    browser = lab.browser(lab.minjun, language)
    for path, extra in (("check", {}), ("new", {"check": "1"})):
        answer = browser.post(f"/trainings/{lab.lenet.id}/jobs/{path}", data=LENET | extra)
        assert answer.status_code == 200
        shown = html.unescape(answer.text)
        assert "lenet-learning_rate=0.1-batch_size=32" in shown
        assert ("Make 6 jobs" if language == "en" else "작업 6개 만들기") in shown
        assert "groundcrew sweep submit" in shown and "--var learning_rate=0.1,0.05,0.01" in shown
    with lab.cluster.store.read() as session:
        assert session.scalar(select(Job.id)) is None


@pytest.mark.parametrize(
    ("training", "changes", "field"),
    [
        ("lenet", {"variables.learning_rate": "0.1, fast"}, "variables.learning_rate"),
        ("lenet", {"variables.learning_rate": "0.1, 0.10"}, "variables.learning_rate"),
        ("lenet", {"variables.seed": "0..9999"}, "values"),
        ("lenet", {"variables.seed": "0..99999"}, "variables.seed"),
        ("lenet", {"most_at_once": "0"}, "most_at_once"),
        ("lenet", {"most_at_once": "many"}, "most_at_once"),
        ("lenet", {"kind": "list"}, "variables.batch_size"),
        ("lenet", {"kind": "spiral"}, "kind"),
        ("own_code", {"values": "0.1, 0.2"}, "values"),
        ("own_code", {"values": 'lr = "0.1'}, "values"),
        ("own_code", {"values": "lr ="}, "values"),
        ("own_code", {"script": ""}, "script"),
    ],
)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_bad_list_is_said_beside_its_field(
    lab: Lab, training: str, changes: dict[str, str], field: str, language: str
) -> None:
    row, data = (lab.lenet, LENET) if training == "lenet" else (lab.own_code, OWN)
    answer = lab.browser(lab.seoyeon, language).post(f"/trainings/{row.id}/jobs/new", data=data | changes)
    assert answer.status_code == 422
    found = re.search(rf'id="{re.escape(field)}-problem".*?<span>(.*?)</span>', answer.text, re.DOTALL)
    assert found, field
    assert bool(re.search("[가-힣]", found[1])) == (language == "ko"), found[1]


def test_the_table_has_only_what_differs_and_marks_the_best(lab: Lab) -> None:
    sweep = a_sweep(lab, {"learning_rate": "0.1, 0.05, 0.01", "epochs": "3"})
    first, second, third = jobs_of(lab, sweep)
    ended(lab, first, {"accuracy/validation": [0.1, 0.5, 0.5], "loss/validation": [0.2, 3, 1]})
    ended(lab, second, {"accuracy/validation": [0.1, 0.9, 0.8], "loss/validation": [0.3, 3, 1]})
    page = lab.browser(lab.minjun).get(f"/sweeps/{sweep.id}").text
    heads = re.findall(r'<th scope="col".*?</th>', page, re.DOTALL)
    assert any("learning_rate" in head for head in heads) and not any("epochs" in head for head in heads)
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)[1:]
    assert [re.search(r">job-(\d+)<", row)[1] for row in rows] == [  # type: ignore[index]
        str(job.id) for job in (second, first, third)
    ]
    assert "trophy" in rows[0] and "90.0 %" in rows[0]
    assert "trophy" in rows[1] and "0.2" in rows[1]
    assert "trophy" not in rows[2]
    assert "2 of 3 ended" in page


def test_the_curves_of_chosen_jobs_lie_over_one_another(lab: Lab) -> None:
    sweep = a_sweep(lab)
    first, second, third = jobs_of(lab, sweep)
    for job, loss in ((first, 0.5), (second, 0.25)):
        ended(lab, job, {"loss/train": [loss, 1, loss]})
        rows = metric_row(1, 1.0, 10.0, loss__train=1.0) + metric_row(2, 2.0, 70.0, loss__train=loss)
        (lab.out(job) / "metrics.jsonl").write_text(rows)
    browser = lab.browser(lab.minjun)
    found = browser.get(f"/sweeps/{sweep.id}/metrics?show={first.id}&show={second.id}").json
    assert found["x"] == [1, 2]
    assert found["series"] == {f"{first.id}:loss/train": [1, 0.5], f"{second.id}:loss/train": [1, 0.25]}
    by_time = browser.get(f"/sweeps/{sweep.id}/metrics?x=time&show={first.id}").json
    assert by_time["x"] == [0, 1]
    page = html.unescape(browser.get(f"/sweeps/{sweep.id}?show={first.id}").text)
    assert f"Do not draw job-{first.id}" in page and f"Draw job-{second.id}" in page
    assert f"show={first.id}&show={third.id}" in page
    other = lab.a_running_job()
    assert browser.get(f"/sweeps/{sweep.id}/metrics?show={other.id}").json["series"] == {}


def test_the_file_has_every_column_and_runs_nothing(lab: Lab) -> None:
    job = JobRequest("own", 1, command=("t.py",))
    request = SweepRequest(job, {"lr": ["=cmd|' /C calc'!A0", "-1", "@x", "한글"]})
    sweep = submission.submit_sweep(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id, request)
    ended(lab, jobs_of(lab, sweep)[1], {"loss/train": [0.5, 1, 0.5]})
    answer = lab.browser(lab.minjun).get(f"/sweeps/{sweep.id}?format=csv&sort=job")
    assert answer.mimetype == "text/csv"
    assert f"sweep-{sweep.id}.csv" in answer.headers["Content-Disposition"]
    head, *rows = csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")))
    assert head == ["job", "number", "state", "lr", "loss/train", "seconds"]
    assert [row[3] for row in rows] == ["'=cmd|' /C calc'!A0", "-1", "'@x", "한글"]
    assert rows[1][4] == "0.5"


def test_a_long_sweep_is_shown_in_parts(lab: Lab) -> None:
    sweep = a_sweep(lab, {"seed": "1..120"})
    browser = lab.browser(lab.minjun)
    first, last = (browser.get(f"/sweeps/{sweep.id}?part={part}").text for part in (1, 3))
    assert len(re.findall(r'<td><a href="/jobs/', first)) == 50
    assert len(re.findall(r'<td><a href="/jobs/', last)) == 20
    assert browser.get(f"/sweeps/{sweep.id}?part=9").status_code == 200


def test_a_sweep_is_stopped_from_its_page(lab: Lab) -> None:
    sweep = a_sweep(lab)
    browser = lab.browser(lab.seoyeon)
    assert "3 jobs that wait" in browser.get(f"/sweeps/{sweep.id}/stop").text
    assert browser.post(f"/sweeps/{sweep.id}/stop").status_code == 303
    assert [job.state.value for job in jobs_of(lab, sweep)] == ["stopped"] * 3
    page = browser.get(f"/sweeps/{sweep.id}").text
    assert "seoyeon stopped it." in page
    assert browser.post(f"/sweeps/{sweep.id}/stop").status_code == 409
    assert lab.browser(lab.minjun).get(f"/sweeps/{sweep.id}/stop").status_code == 200
    assert lab.browser(lab.minjun).post(f"/sweeps/{sweep.id}/stop").status_code == 403


def test_jobs_lead_to_their_sweep_and_back(lab: Lab) -> None:
    sweep = a_sweep(lab)
    lab.a_running_job()
    browser = lab.browser(lab.minjun)
    job = jobs_of(lab, sweep)[0]
    assert f'href="/sweeps/{sweep.id}"' in browser.get(f"/jobs/{job.id}").text
    listed = browser.get(f"/jobs?sweep={sweep.id}").text
    assert len(set(re.findall(r'href="/jobs/(\d+)"', listed))) == 3
    assert f'href="/sweeps/{sweep.id}"' in listed
