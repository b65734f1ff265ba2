"""The form of a new job: what it refuses and how it says so, the estimate beside it, duplicates."""

import html
import re

import pytest
from sqlalchemy import select

from cluster.domain.built_in_models import BUILT_IN_MODELS
from cluster.store.jobs import Job
from cluster.store.nodes import Node
from tests.builders import a_dataset, a_workspace
from tests.pages.portal.pages_lab import Lab

LENET = {
    "name": "lenet-1",
    "dataset": "1",
    "units": "1",
    "priority": "0",
    "time_limit": "",
    "variables.epochs": "3",
    "variables.learning_rate": "0.01",
}
OWN = {
    "name": "own-1",
    "dataset": "",
    "units": "1",
    "launcher": "plain",
    "script": "train.py",
    "arguments": "--epochs 3 --note 'two words'",
}


def problem_of(html: str, field: str) -> str:
    """The sentence beside a field."""
    found = re.search(rf'id="{re.escape(field)}-problem".*?<span>(.*?)</span>', html, re.DOTALL)
    return found[1] if found else ""


def all_jobs(lab: Lab) -> list[Job]:
    """The newest first."""
    with lab.cluster.store.read() as session:
        return list(session.scalars(select(Job).order_by(Job.id.desc())))


def test_a_job_is_made_of_the_models_variables(lab: Lab) -> None:
    answer = lab.browser(lab.minjun).post(f"/trainings/{lab.lenet.id}/jobs/new", data=LENET)
    assert answer.status_code == 303
    (job,) = all_jobs(lab)
    assert answer.location.endswith(f"/jobs/{job.id}")
    assert (job.name, job.units, job.dataset_id) == ("lenet-1", 1, lab.dataset.id)
    assert job.variables["epochs"] == 3
    assert job.variables["learning_rate"] == 0.01
    assert job.variables["batch_size"] == 32


def test_a_job_may_ask_for_less_memory_than_its_units_share(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    path = f"/trainings/{lab.own_code.id}/jobs/new"
    assert re.search(r'id="memory"[^>]*value=""', browser.get(path).text)
    assert browser.post(path, data=OWN | {"memory": "1.5 GiB"}).status_code == 303
    (job,) = all_jobs(lab)
    assert job.memory_bytes == 1024**3 * 3 // 2
    assert "1.5 GiB" in browser.get(f"/jobs/{job.id}?tab=settings").text
    assert 'value="1.5 GiB"' in browser.get(f"{path}?before={job.id}").text
    assert browser.post(path, data=OWN).status_code == 303
    newest = all_jobs(lab)[0]
    assert newest.memory_bytes is None
    assert "share of the node" in html.unescape(browser.get(f"/jobs/{newest.id}?tab=settings").text)


def test_the_estimate_refuses_more_memory_than_there_is_and_offers_the_command(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    with lab.cluster.store.write() as session:
        for node in session.scalars(select(Node)):
            node.facts = {"memory_bytes": 64 * 1024**3}
    path = f"/trainings/{lab.own_code.id}/jobs"
    answer = browser.post(f"{path}/new", data=OWN | {"memory": "60"})
    assert answer.status_code == 422
    assert "No node has more than 57.6 GiB" in problem_of(answer.text, "memory")
    # Half of the node's two units: half of what it has for jobs.
    answer = browser.post(f"{path}/new", data=OWN | {"memory": "28.9"})
    assert "come with at most 28.8 GiB" in problem_of(answer.text, "memory")
    assert browser.post(f"{path}/new", data=OWN | {"memory": "28.8"}).status_code == 303
    assert "#memory" in browser.post(f"{path}/check", data=OWN | {"memory": "60"}).text
    assert "--memory 20GiB" in browser.post(f"{path}/check", data=OWN | {"memory": "20"}).text


BAD_LENET = [
    ("name", "Has Capitals"),
    ("name", "x" * 61),
    ("name", "naïve"),
    ("dataset", ""),
    ("dataset", "999"),
    ("dataset", "-1"),
    ("dataset", "1; DROP TABLE jobs"),
    ("dataset", "9" * 30),
    ("units", ""),
    ("units", "0"),
    ("units", "-1"),
    ("units", "1.5"),
    ("units", "NaN"),
    ("units", "3"),
    ("units", "1e3"),
    ("units", "２"),
    ("priority", "101"),
    ("priority", "high"),
    ("time_limit", "-5"),
    ("time_limit", "NaN"),
    ("time_limit", "1s"),
    ("time_limit", "9999999d"),
    ("time_limit", "two hours"),
    ("variables.epochs", "NaN"),
    ("variables.epochs", "-1"),
    ("variables.epochs", "1.5"),
    ("variables.epochs", ""),
    ("variables.epochs", "9" * 400),
    ("variables.learning_rate", "inf"),
    ("variables.learning_rate", "0"),
    ("variables.learning_rate", "a lot"),
    ("variables.dropout", "1"),
    ("variables.optimizer", "lamb"),
    ("variables.schedule", "<script>"),
]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_bad_input_is_said_beside_its_field_and_the_rest_is_kept(lab: Lab, language: str) -> None:
    browser, path = lab.browser(lab.seoyeon, language), f"/trainings/{lab.lenet.id}/jobs/new"
    for field, value in BAD_LENET:
        answer = browser.post(path, data=LENET | {"variables.momentum": "0.55", field: value})
        sentence, case = problem_of(answer.text, field), f"{field}={value[:40]!r}"
        assert answer.status_code == 422, case
        assert sentence and not re.fullmatch(r"[a-z_.]+", sentence), f"{case}: {sentence!r} is no sentence"
        assert bool(re.search("[가-힣]", sentence)) == (language == "ko"), f"{case}: {sentence}"
        assert ">\n0.55</textarea>" in answer.text, case
        assert "<script>" not in sentence, case
    assert all_jobs(lab) == []


BAD_OWN = [
    ("script", "", "script"),
    ("script", "   ", "script"),
    ("script", "train\x00.py", "script"),
    ("arguments", "'open", "arguments"),
    ("arguments", "x\x1b[31m", "arguments"),
    ("arguments", "a " * 1001, "arguments"),
    ("launcher", "mpirun", "launcher"),
    ("launcher", "", "launcher"),
    ("units", "2", "launcher"),
    ("grace", "0", "grace"),
    ("memory", "much", "memory"),
    ("memory", "1MiB", "memory"),
    ("memory", "9999TiB", "memory"),
    ("dataset", "999999999999", "dataset"),
]


def test_a_bad_command_is_said_beside_its_part(lab: Lab) -> None:
    browser, path = lab.browser(lab.seoyeon), f"/trainings/{lab.own_code.id}/jobs/new"
    for field, value, named in BAD_OWN:
        answer = browser.post(path, data=OWN | {field: value})
        assert answer.status_code == 422, (field, value[:40])
        assert problem_of(answer.text, named), (field, value[:40])
    assert all_jobs(lab) == []


@pytest.mark.parametrize(
    ("training", "field"),
    [("lenet", "gpus"), ("lenet", "script"), ("lenet", "variables.beta"), ("own_code", "variables.epochs")],
)
def test_an_unknown_field_is_refused_by_name(lab: Lab, training: str, field: str) -> None:
    row = getattr(lab, training)
    data = (LENET if training == "lenet" else OWN) | {field: "1"}
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{row.id}/jobs/new", data=data)
    assert answer.status_code == 422
    assert field.rpartition(".")[2] in answer.get_data(as_text=True)
    assert all_jobs(lab) == []


def test_another_workspaces_dataset_is_unknown_here(lab: Lab) -> None:
    foreign = a_dataset(lab.cluster, a_workspace(lab.cluster), name="foreign")
    data = LENET | {"dataset": str(foreign.id)}
    for path in ("new", "check"):
        answer = lab.browser(lab.administrator).post(f"/trainings/{lab.lenet.id}/jobs/{path}", data=data)
        assert answer.status_code == (422 if path == "new" else 200)
        assert "no such dataset" in answer.get_data(as_text=True)


def test_without_scripts_a_button_checks_and_the_other_stays_on(lab: Lab) -> None:
    data = LENET | {"check": "1", "variables.epochs": "0"}
    html = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/new", data=data).text
    assert problem_of(html, "variables.epochs")
    assert not re.search(r"<button[^>]*disabled[^>]*>Make 1 job", html)
    assert all_jobs(lab) == []


def test_relative_paths_are_warned_about_and_the_command_line_is_shown(lab: Lab) -> None:
    data = OWN | {"arguments": "--data ./images --out 'a b'"}
    html = lab.browser(lab.seoyeon).post(f"/trainings/{lab.own_code.id}/jobs/check", data=data).text
    assert "“./images” is a relative path" in html
    assert "python -u train.py --data ./images --out &#39;a b&#39;</pre>" in html


def test_a_private_training_takes_no_job_from_who_may_not_see_it(lab: Lab) -> None:
    for user, status in ((lab.minjun, 404), (lab.stranger, 404), (lab.manager, 303)):
        answer = lab.browser(user).post(f"/trainings/{lab.private.id}/jobs/new", data=LENET)
        assert answer.status_code == status


def test_a_workspace_whose_term_is_over_takes_no_job(lab: Lab) -> None:
    lab.cluster.clock.move(days=60)  # type: ignore[attr-defined]
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/new", data=LENET)
    assert answer.status_code == 422
    assert "vision" in answer.text


WRONG = {
    "name": "Lenet!",
    "units": "two",
    "dataset": "",
    "priority": "500",
    "time_limit": "soon",
    "retries": "x",
    "memory": "much",
    "variables.epochs": "0",
    "variables.learning_rate": "abc",
}


@pytest.mark.parametrize("button", [{}, {"check": "1"}], ids=["submitted", "checked"])
def test_all_faults_are_told_at_once_each_beside_its_field(lab: Lab, button: dict[str, str]) -> None:
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/new", data=WRONG | button)
    for field in WRONG:
        assert problem_of(answer.text, field), field
    assert f"Fix {len(WRONG)} problems" in answer.text
    assert all_jobs(lab) == []


def test_all_faults_of_a_sweep_are_told_at_once(lab: Lab) -> None:
    wrong = {
        "name": "Lenet!",
        "variables.epochs": "1, 0",
        "variables.learning_rate": "0.1, x",
        "most_at_once": "0",
    }
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/new", data=LENET | wrong)
    assert answer.status_code == 422
    for field in wrong:
        assert problem_of(answer.text, field), field


def test_the_live_answer_has_each_fault_for_its_field(lab: Lab) -> None:
    path = f"/trainings/{lab.lenet.id}/jobs/check"
    answer = lab.browser(lab.seoyeon).post(path, data=WRONG).text
    assert set(re.findall(r'data-for="([^"]+)"', answer)) == set(WRONG)
    assert "data-for" not in lab.browser(lab.seoyeon).post(path, data=LENET).text


def test_the_live_answer_counts_the_values_of_each_variable(lab: Lab) -> None:
    path = f"/trainings/{lab.lenet.id}/jobs/check"
    data = LENET | {"variables.epochs": "1, 2, 3", "variables.dropout": "0.5", "variables.seed": ""}
    answer = lab.browser(lab.seoyeon).post(path, data=data).text
    counts = dict(
        re.findall(r'<span id="count-variables\.(\w+)" hx-swap-oob="innerHTML">(.*?)</span>', answer)
    )
    assert (counts["epochs"], counts["dropout"], counts["seed"]) == ("<b>3</b>", "1", "–")
    assert set(counts) == {variable.name for variable in BUILT_IN_MODELS["lenet"].variables}


def test_what_is_seldom_needed_is_open_where_it_differs_or_is_wrong(lab: Lab) -> None:
    browser, path = lab.browser(lab.seoyeon), f"/trainings/{lab.lenet.id}/jobs/new"

    def is_open(page: str) -> bool:
        return '<details class="more" open><summary>More settings' in page

    assert not is_open(browser.get(path).text)
    for field, value in (("retries", "99"), ("memory", "much"), ("grace", "5m"), ("priority", "3")):
        assert is_open(browser.post(path, data=LENET | {"check": "1", field: value}).text), field


def test_enter_in_a_field_checks_and_does_not_submit(lab: Lab) -> None:
    form = lab.browser(lab.seoyeon).get(f"/trainings/{lab.lenet.id}/jobs/new").text.split('id="job-form"')[1]
    first = re.search(r'<button[^>]*type="submit"[^>]*>', form)
    assert first and 'name="check"' in first[0], "a browser presses a form's first button"
