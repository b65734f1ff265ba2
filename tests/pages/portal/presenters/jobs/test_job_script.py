"""Which version of own code a job runs, and which file of it: in form, REST and command."""

import re

import pytest

from cluster.services import trainings
from cluster.services.people import api_tokens
from cluster.store.environments import Environment
from cluster.store.jobs import Job
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import OWN, all_jobs, problem_of

FIRST = (("train.py", b"print(1)\n"),)
SECOND = (("eval.py", b"print(2)\n"), ("fit.py", b"print(3)\n"))


@pytest.fixture
def versions(lab: Lab) -> Lab:
    """Versions 2 and 3 of the own code have files; version 1 is only a number."""
    for files in (FIRST, SECOND):
        trainings.upload_code(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id, files)
    return lab


def address(lab: Lab, page: str = "new") -> str:
    return f"/trainings/{lab.own_code.id}/jobs/{page}"


def selected(html: str, name: str) -> str:
    field = re.search(rf'<select[^>]* id="{name}".*?</select>', html, re.DOTALL)
    assert field, name
    found = re.search(r'<option value="([^"]*)" selected', field[0])
    return found[1] if found else ""


def test_the_script_is_chosen_from_the_files_of_the_version(versions: Lab) -> None:
    browser = versions.browser(versions.seoyeon)
    html = browser.get(address(versions)).text
    assert selected(html, "code_version") == "3"
    assert selected(html, "script") == ""
    assert 'value="eval.py"' in html
    older = browser.post(address(versions, "script"), data={"code_version": "2"}).text
    assert selected(older, "script") == "train.py"  # The only one is preset.
    assert 'value="eval.py"' not in older
    changed = browser.post(address(versions, "script"), data={"code_version": "2", "script": "fit.py"}).text
    assert selected(changed, "script") == "train.py" and "fit.py" not in changed
    again = browser.post(address(versions), data=OWN | {"code_version": "2", "check": "1"}).text
    assert (selected(again, "code_version"), selected(again, "script")) == ("2", "train.py")


@pytest.mark.parametrize("script", ["nonexist.py", "fit.py --lr 0.1", "python fit.py"])
def test_a_script_that_cannot_run_is_refused_beside_its_field(versions: Lab, script: str) -> None:
    browser = versions.browser(versions.seoyeon)
    answer = browser.post(address(versions), data=OWN | {"script": "", "other_command": script})
    assert answer.status_code == 422
    assert problem_of(answer.text, "other_command")
    assert 'id="script-problem"' not in answer.text
    assert f'value="{script}"' in answer.text
    estimate = browser.post(address(versions, "check"), data=OWN | {"script": script}).text
    assert 'href="#script"' in estimate
    assert all_jobs(versions) == []


def test_a_link_leads_to_the_form_with_its_version(versions: Lab) -> None:
    browser = versions.browser(versions.seoyeon)
    page = browser.get(f"/trainings/{versions.own_code.id}/code?version=2").text
    link = re.search(r'href="(/trainings/\d+/jobs/new[^"]*)"', page)
    assert link
    form = browser.get(link[1]).text
    assert (selected(form, "code_version"), selected(form, "script")) == ("2", "train.py")


def test_the_estimate_shows_the_command_line(versions: Lab) -> None:
    data = OWN | {"script": "fit.py"}
    html = versions.browser(versions.seoyeon).post(address(versions, "check"), data=data).text
    assert "python -u fit.py --epochs 3 --note &#39;two words&#39;" in html


def test_a_duplicate_keeps_the_version_of_its_original(versions: Lab) -> None:
    browser = versions.browser(versions.seoyeon)
    assert browser.post(address(versions), data=OWN | {"code_version": "2"}).status_code == 303
    (job,) = all_jobs(versions)
    assert job.code_version == 2
    html = browser.get(f"/jobs/{job.id}/duplicate", follow_redirects=True).text
    assert (selected(html, "code_version"), selected(html, "script")) == ("2", "train.py")


def test_rest_and_dry_run_take_a_version_and_refuse_one_that_is_not_there(versions: Lab) -> None:
    actor = actor_of(versions.seoyeon)
    _, token = api_tokens.create_api_token(versions.cluster, actor, "laptop", ["read", "write"], 30)
    browser, headers = versions.browser(versions.seoyeon), {"Authorization": f"Bearer {token}"}
    body = {"training_id": versions.own_code.id, "command": ["train.py"], "code_version": 2}
    made = browser.post("/api/v1/jobs", json=body, headers=headers)
    assert (made.status_code, made.get_json()["code_version"]) == (201, 2)
    for wrong, field in (({"code_version": 9}, "code_version"), ({"command": ["eval.py"]}, "command")):
        for path in ("/api/v1/jobs", "/api/v1/jobs?dry_run=true"):
            refused = browser.post(path, json=body | wrong, headers=headers)
            assert refused.status_code == 422
            assert [error["pointer"] for error in refused.get_json()["errors"]] == [f"/{field}"]
    built_in = {"training_id": versions.lenet.id, "code_version": 1, "dataset_id": versions.dataset.id}
    assert browser.post("/api/v1/jobs", json=built_in, headers=headers).status_code == 422
    with versions.cluster.store.read() as session:
        assert [job.code_version for job in session.query(Job)] == [2]


@pytest.mark.parametrize(
    ("libraries", "is_offered"), [((), True), (("tensorflow",), False), (("torch",), True)]
)
def test_torchrun_is_offered_where_there_is_a_torch(
    versions: Lab, libraries: tuple[str, ...], is_offered: bool
) -> None:
    with versions.cluster.store.write() as session:
        session.query(Environment).one().contents = [[library, "1", "purpose.x"] for library in libraries]
    browser = versions.browser(versions.seoyeon)
    assert ('value="torchrun"' in browser.get(address(versions)).text) is is_offered
    chosen = browser.post(address(versions, "check"), data=OWN | {"script": "fit.py", "launcher": "torchrun"})
    assert ("has no torch" in chosen.text) is not is_offered
