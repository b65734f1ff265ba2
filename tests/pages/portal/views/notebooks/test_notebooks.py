"""The pages of notebooks: start, wait, open, save; in both languages and without scripts."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.executors import ExecutorKind
from cluster.domain.states import JobKind, JobState, TrainingKind
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.notebooks.editor_environment import ensure_editor
from cluster.services.people.users import service_actor
from cluster.services.storage import folders, notebook_folders
from cluster.store.jobs import Job, Notebook
from cluster.store.trainings import Training, WorkingCopy
from portal.shared_objects import share_object
from tests.builders import a_code_version, a_job, actor_of, add
from tests.pages.portal.pages_lab import Lab

CODE = [("train.py", b"print(1)\n")]


@pytest.fixture
def address(lab: Lab) -> str:
    """Of own code with version 1; JupyterLab is installed."""
    a_code_version(lab.cluster, lab.own_code, CODE)
    ensure_editor(lab.cluster, service_actor(lab.cluster), Path("/editor"), is_built=True)
    return f"/trainings/{lab.own_code.id}/notebook"


def write_copy(lab: Lab, content: bytes) -> None:
    settings, training = lab.cluster.settings, lab.own_code
    folders.ensure_workspace_folder(settings, training.workspace_id)
    owner = lab.seoyeon.id
    notebook_folders.ensure_working_copy_folder(settings, training.workspace_id, training.id, owner)
    copy = notebook_folders.working_copy_folder(settings, training.workspace_id, training.id, owner)
    (copy / "files").mkdir(exist_ok=True)
    (copy / "files" / "train.py").write_bytes(content)
    packages = copy / "packages" / "lib" / "python3.11" / "site-packages" / "humanize-4.17.0.dist-info"
    packages.mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize(("language", "word"), [("en", "Open JupyterLab"), ("ko", "JupyterLab 열기")])
def test_one_click_leads_to_the_page_that_waits(lab: Lab, address: str, language: str, word: str) -> None:
    browser = lab.browser(lab.seoyeon, language)
    assert word in browser.get(address).text
    answer = browser.post(address, data={"time_limit": "8h"})
    assert answer.status_code == 303 and answer.location.endswith("/notebook?open=1")
    page = browser.get(answer.location)
    assert page.status_code == 200 and word not in page.text
    again = browser.post(address)
    assert again.location == answer.location


def test_a_wrong_time_limit_is_named(lab: Lab, address: str) -> None:
    answer = lab.browser(lab.seoyeon).post(address, data={"time_limit": "soon"})
    assert answer.status_code == 422 and "soon" in answer.text


def test_without_jupyterlab_the_page_says_where_its_installation_is(lab: Lab, address: str) -> None:
    ensure_editor(lab.cluster, service_actor(lab.cluster), Path("/other"), is_built=False)
    answer = lab.browser(lab.seoyeon).post(address)
    assert answer.status_code == 422 and "JupyterLab is not installed" in answer.text


def test_files_are_saved_as_a_version_and_lead_to_a_job(lab: Lab, address: str) -> None:
    browser = lab.browser(lab.seoyeon)
    browser.post(address)
    write_copy(lab, b"print(2)\n")
    page = browser.get(address).text
    assert "humanize" in page and "4.17.0" in page
    answer = browser.post(f"{address}/save", data={"then": "job"})
    assert answer.status_code == 303 and answer.location.endswith(f"/trainings/{lab.own_code.id}/jobs/new")
    with lab.cluster.store.read() as session:
        assert session.get_one(Training, lab.own_code.id).code_version == 2
    trainings.upload_code(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id, [("other.py", b"x\n")])
    late = browser.post(f"{address}/save")
    assert late.status_code == 409 and "Version 3" in late.text and 'name="overwrite"' in late.text
    assert browser.post(f"{address}/save", data={"overwrite": "1"}).status_code == 303


def test_a_member_opens_an_editor_and_saves_no_version(lab: Lab, address: str) -> None:
    member = lab.browser(lab.minjun)
    assert f"{address}/save" not in member.get(address).text
    assert member.post(address).status_code == 303
    assert member.post(f"{address}/save").status_code == 403
    assert lab.browser(lab.stranger).get(address).status_code == 404


def test_the_page_of_a_training_leads_to_it_and_that_of_a_model_does_not(lab: Lab, address: str) -> None:
    browser = lab.browser(lab.seoyeon)
    assert address in browser.get(f"/trainings/{lab.own_code.id}").text
    assert f"{lab.lenet.id}/notebook" not in browser.get(f"/trainings/{lab.lenet.id}").text
    assert browser.get(f"/trainings/{lab.lenet.id}/notebook").status_code == 404


def test_a_training_for_notebooks_is_made_without_a_file(lab: Lab, address: str) -> None:
    browser = lab.browser(lab.seoyeon)
    form = f"/workspaces/{lab.workspace.id}/trainings/new"
    assert "optional" in browser.get(f"{form}?kind=notebook").text
    data = {"kind": "notebook", "name": "notes", "visibility": "public"}
    answer = browser.post(form, data=data)
    assert answer.status_code == 303
    with lab.cluster.store.read() as session:
        made = session.query(Training).filter_by(name="notes").one()
        assert (made.kind, made.code_version) == (TrainingKind.NOTEBOOK, 0)
    assert browser.post(f"/trainings/{made.id}/notebook").status_code == 303


def test_an_announced_stop_can_be_put_off_by_its_person(lab: Lab, address: str) -> None:
    job = a_job(
        lab.cluster, lab.own_code, lab.seoyeon, state=JobState.RUNNING, fence=1, kind=JobKind.NOTEBOOK
    )
    now = lab.cluster.clock()
    add(
        lab.cluster,
        Notebook(job_id=job.id, token="t", ready_attempt=1, used_at=now, warned_at=now, stops_at=now),
        WorkingCopy(training_id=lab.own_code.id, user_id=lab.seoyeon.id, code_version=1),
    )
    browser = lab.browser(lab.seoyeon)
    assert f"/jobs/{job.id}/notebook/keep" in browser.get(f"/jobs/{job.id}/notebook").text
    assert f"/jobs/{job.id}/notebook/keep" not in lab.browser(lab.minjun).get(f"/jobs/{job.id}/notebook").text
    assert browser.post(f"/jobs/{job.id}/notebook/keep").status_code == 303
    assert "/notebook/keep" not in browser.get(f"/jobs/{job.id}/notebook").text
    assert f"/jobs/{job.id}/notebook" in browser.get("/notebooks").text
    assert "Open JupyterLab" in browser.get(f"/jobs/{job.id}/notebook").text
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).fence = 2  # Its node is lost, and it begins on another one.
    assert "Open JupyterLab" not in browser.get(f"/jobs/{job.id}/notebook").text
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).state = JobState.STOPPED
    assert "Start it again" in browser.get(f"/jobs/{job.id}/notebook").text
    assert f"/jobs/{job.id}/duplicate" not in browser.get(f"/jobs/{job.id}").text
    assert browser.get(f"/jobs/{job.id}/duplicate").location == address
    assert f"/jobs/{job.id}/notebook" not in browser.get("/notebooks").text


@pytest.mark.parametrize(
    ("language", "ask", "approve"), [("en", "Ask for an environment", "Approve"), ("ko", "환경 요청", "승인")]
)
def test_packages_become_an_environment_that_the_manager_approves(
    lab: Lab, address: str, language: str, ask: str, approve: str
) -> None:
    browser, manager = lab.browser(lab.seoyeon, language), lab.browser(lab.manager, language)
    browser.post(address)
    write_copy(lab, b"print(2)\n")
    assert ask in browser.get(address).text
    wrong = browser.post(f"{address}/environment", data={"name": "A B"})
    assert wrong.status_code == 422 and "A B" in wrong.text
    page = browser.post(f"{address}/environment", data={"name": "kept"}).location
    shown = browser.get(page).text
    assert "humanize==4.17.0" in shown and f">{approve}<" not in shown
    assert browser.post(f"{page}/approve").status_code == 403
    assert approve in manager.get(page).text and "seoyeon" in manager.get(page).text
    assert manager.post(f"{page}/approve").location == page
    assert f"{page}/approve" not in manager.get(page).text and f"{page}/cancel" in manager.get(page).text
    other = browser.post(f"{address}/environment", data={"name": "other"}).location
    assert manager.post(f"{other}/decline").location == "/environments"
    assert f'"{other}"' not in manager.get("/environments").text
    member = lab.browser(lab.minjun)
    assert member.post(f"{address}/environment", data={"name": "mine"}).status_code == 403


@pytest.mark.parametrize(("language", "word"), [("en", "what their image has"), ("ko", "이미지에 들어 있는")])
def test_where_jobs_run_in_images_a_package_can_lie_among_the_files(
    lab: Lab, address: str, language: str, word: str
) -> None:
    settings = replace(lab.cluster.settings, executor=ExecutorKind.KUBERNETES)
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    browser = lab.browser(lab.seoyeon, language)
    browser.post(address)
    write_copy(lab, b"print(2)\n")
    page = browser.get(address).text
    assert word in page and "pip install --target . humanize" in page and f"{address}/environment" not in page
