"""The form's several values, the page of a sweep, its file and its end."""

import csv
import html
import io
import json
import re

import pytest
from sqlalchemy import select, update

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import JobState, Launcher
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.sweeps import queries, submission
from cluster.store.jobs import Job, Sweep, headline_columns
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
    assert found["series"] == {
        f"{first.id}:loss/train": [[1, 2], [1, 0.5]],
        f"{second.id}:loss/train": [[1, 2], [1, 0.25]],
    }
    by_time = browser.get(f"/sweeps/{sweep.id}/metrics?x=time&show={first.id}").json
    assert by_time["series"][f"{first.id}:loss/train"][0] == [0, 1]
    page = html.unescape(browser.get(f"/sweeps/{sweep.id}?show={first.id}").text)
    assert f"Do not draw job-{first.id}" in page and f"Draw job-{second.id}" in page
    assert f"show={first.id}&show={third.id}" in page
    other = lab.a_running_job()
    assert browser.get(f"/sweeps/{sweep.id}/metrics?show={other.id}").json["series"] == {}


def test_the_file_has_every_column_and_runs_nothing(lab: Lab) -> None:
    job = JobRequest("own", 1, command=("t.py",))
    request = SweepRequest(job, {"lr": ["=cmd|' /C calc'!A0", "-1", "@x", "한글", "＝1+1"]})
    sweep = submission.submit_sweep(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id, request)
    ended(lab, jobs_of(lab, sweep)[1], {"loss/train": [0.5, 1, 0.5]})
    answer = lab.browser(lab.minjun).get(f"/sweeps/{sweep.id}?format=csv&sort=job")
    assert answer.mimetype == "text/csv"
    assert f"sweep-{sweep.id}.csv" in answer.headers["Content-Disposition"]
    head, *rows = csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")))
    assert head == ["job", "number", "state", "lr", "loss/train", "seconds"]
    assert [row[3] for row in rows] == ["'=cmd|' /C calc'!A0", "-1", "'@x", "한글", "'＝1+1"]
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


def test_sweeps_have_a_list_with_their_best_result(lab: Lab) -> None:
    sweep = a_sweep(lab)
    first, second, _third = jobs_of(lab, sweep)
    for job, accuracy in ((first, 0.5), (second, 0.9)):
        ended(lab, job, {"accuracy/validation": [0.1, accuracy, accuracy]})
        with lab.cluster.store.write() as session:
            headline = headline_columns(HeadlineMetric("accuracy/validation", accuracy, is_best=True))
            session.execute(update(Job).where(Job.id == job.id).values(**headline))
    browser = lab.browser(lab.minjun)
    page = browser.get("/sweeps").text
    assert f'href="/sweeps/{sweep.id}"' in page
    assert "90.0 %" in page and "50.0 %" not in page and second.name in page
    assert "2 of 3 ended" in page and "1 waits" in page
    assert "No sweep matches" in browser.get(f"/sweeps?user={lab.minjun.id}").text
    assert f'href="/sweeps/{sweep.id}"' not in lab.browser(lab.stranger).get("/sweeps").text


def test_the_table_and_the_legend_say_the_same_number_of_any_metric(lab: Lab) -> None:
    sweep = a_sweep(lab)
    for job, bleu in zip(jobs_of(lab, sweep), (30.0, 20.0), strict=False):
        ended(lab, job, {"bleu": [1, bleu + 5, bleu], "perplexity": [3, 9, 4]})
        with lab.cluster.store.write() as session:
            headline = headline_columns(HeadlineMetric("bleu", bleu, is_best=False))
            session.execute(update(Job).where(Job.id == job.id).values(**headline))
    browser = lab.browser(lab.minjun)
    page = html.unescape(browser.get(f"/sweeps/{sweep.id}").text)
    assert re.search(r'<b><svg.*?</svg> 30<span class="hidden-word"> best', page, re.DOTALL)
    assert '"still": "30"' in page and '"still": "3"' in page
    assert '"35"' not in page and "> 35<" not in page
    assert "last value" in page and "best value" in page
    compared = html.unescape(browser.get(f"/sweeps/{sweep.id}?metric=perplexity").text)
    assert re.search(r'<b><svg.*?</svg> 3<span class="hidden-word"> best', compared, re.DOTALL)
    assert browser.get(f"/sweeps/{sweep.id}?metric=nonsense").status_code == 422


def test_parallel_coordinates_lead_through_parameters_time_and_result(lab: Lab) -> None:
    sweep = a_sweep(lab, {"learning_rate": "0.1, 0.05", "batch_size": "32, 64"})
    browser = lab.browser(lab.minjun)
    assert "Parallel coordinates" not in browser.get(f"/sweeps/{sweep.id}").text
    for job, accuracy in zip(jobs_of(lab, sweep), (0.5, 0.6, 0.7), strict=False):
        ended(lab, job, {"accuracy/validation": [0.1, accuracy, accuracy]})
    page = browser.get(f"/sweeps/{sweep.id}").text
    drawing = page[page.index('class="table-region coordinates"') :]
    assert re.findall(r'class="axis-title"[^>]*>([^<]+)<', drawing) == [
        "learning_rate",
        "batch_size",
        "Ran",
        "val accuracy",
    ]
    assert len(re.findall(r'<path class="(?:chosen|faint)', drawing)) == 3
    assert "1 job is not drawn" in page


def test_a_sweep_is_duplicated_and_its_best_runs_longer(lab: Lab) -> None:
    sweep = a_sweep(lab, {"learning_rate": "0.1, 0.05", "epochs": "3", "optimizer": ["sgd", "adam"]})  # type: ignore[dict-item]
    best = jobs_of(lab, sweep)[1]
    ended(lab, best, {"accuracy/validation": [0.1, 0.9, 0.9]})
    browser = lab.browser(lab.seoyeon)
    page = html.unescape(browser.get(f"/sweeps/{sweep.id}").text)
    duplicate = re.search(r'href="([^"]*sweep=[^"]*)"[^>]*>(?:(?!</a>).)*Duplicate sweep', page, re.DOTALL)
    assert duplicate
    form = browser.get(duplicate[1]).text
    assert "0.1" in form and "0.05" in form
    assert len(re.findall(r'name="variables.optimizer" value="(?:sgd|adam)" checked', form)) == 2
    longer = re.search(r'href="([^"]*longer=3[^"]*)"', page)
    assert longer and f"before={best.id}" in longer[1]
    assert re.search(r'name="variables.epochs"[^>]*>\s*9\s*<', browser.get(longer[1]).text)


def test_a_sweep_of_own_code_is_duplicated_with_its_placeholders(lab: Lab) -> None:
    job = JobRequest("own", 1, command=("train.py", "--rate", "{lr}"))
    request = SweepRequest(job, {"lr": ["0.1", "0.2"], "name": ["a,b", "c"]})
    sweep = submission.submit_sweep(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id, request)
    browser = lab.browser(lab.seoyeon)
    form = html.unescape(browser.get(f"/trainings/{lab.own_code.id}/jobs/new?sweep={sweep.id}").text)
    assert "--rate '{lr}'" in form or "--rate {lr}" in form
    assert 'lr = 0.1, 0.2\nname = "a,b", c' in form
    assert browser.get(f"/trainings/{lab.lenet.id}/jobs/new?sweep={sweep.id}").status_code == 404


def test_the_page_offers_the_checkpoints_of_the_best_jobs_and_draws_the_others_faint(lab: Lab) -> None:
    sweep = a_sweep(lab, {"learning_rate": ", ".join(f"0.{number:02}" for number in range(1, 8))})
    jobs = jobs_of(lab, sweep)
    for number, job in enumerate(jobs):
        ended(lab, job, {"accuracy/validation": [0.4, 0.5 + number / 100, 0.5]})
    folder = lab.out(jobs[-1]) / "checkpoints"
    folder.mkdir()
    (folder / "epoch-001.pt").write_bytes(b"weights")
    page = lab.browser(lab.seoyeon).get(f"/sweeps/{sweep.id}").text
    panel = page.split("Get checkpoints")[1].split("</section>")[0]
    assert f"/jobs/{jobs[-1].id}/checkpoints/epoch-001.pt" in panel and "No checkpoint yet" in panel
    assert panel.count("<li>") == 3 and f"job-{jobs[0].id}<" not in panel
    others = json.loads(html.unescape(page.split("data-others=")[1].split('"')[1]))
    assert len(others) == 3 and all(key.endswith(":accuracy/validation") for key in others)
    address = html.unescape(page.split('data-charts="')[1].split('"')[0])
    assert set(lab.browser(lab.seoyeon).get(address).json) >= {"series"}


def test_graphs_stand_in_two_columns_once_there_are_many(lab: Lab) -> None:
    sweep = a_sweep(lab)
    ended(lab, jobs_of(lab, sweep)[0], {"accuracy/validation": [0.5, 0.5, 0.5]})
    assert "side-by-side" in lab.browser(lab.seoyeon).get(f"/sweeps/{sweep.id}").text
    ended(
        lab, jobs_of(lab, sweep)[1], {name: [0.5, 0.5, 0.5] for name in ("accuracy/validation", "f1", "bleu")}
    )
    assert "side-by-side" not in lab.browser(lab.seoyeon).get(f"/sweeps/{sweep.id}").text
