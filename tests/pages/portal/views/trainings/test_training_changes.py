"""Pages that edit, hand over, archive and delete a training."""

import pytest

from cluster.services import trainings
from cluster.store.trainings import Training
from tests.builders import a_code_version, a_job, actor_of
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import problem_of

FORM = {"name": "own-code", "description": "Better", "visibility": "public", "members": ""}


def read(lab: Lab) -> Training:
    return trainings.read_training(lab.cluster, actor_of(lab.administrator), lab.own_code.id)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_an_edit_is_saved_and_a_refusal_stands_beside_its_field(lab: Lab, language: str) -> None:
    browser, path = lab.browser(lab.seoyeon, language), f"/trainings/{lab.own_code.id}/edit"
    assert path in browser.get(f"/trainings/{lab.own_code.id}").text
    refused = browser.post(path, data=FORM | {"name": "digits-lenet"})
    assert refused.status_code == 422 and problem_of(refused.text, "name")
    assert browser.post(path, data=FORM | {"name": "renamed"}).status_code == 303
    assert (read(lab).name, read(lab).description) == ("renamed", "Better")
    assert 'value="renamed"' in browser.get(path).text


def test_only_owners_and_managers_reach_the_forms(lab: Lab) -> None:
    for user, status in ((lab.minjun, 403), (lab.stranger, 404)):
        browser = lab.browser(user)
        assert browser.get(f"/trainings/{lab.own_code.id}/edit").status_code == status
        for verb in ("archive", "unarchive"):
            assert browser.post(f"/trainings/{lab.own_code.id}/{verb}").status_code == status
        hand_over = browser.post(f"/trainings/{lab.own_code.id}/hand-over", data={"owner": "minjun"})
        assert hand_over.status_code == status
        assert browser.post(f"/trainings/{lab.own_code.id}/delete").status_code == status
    assert "/edit" not in lab.browser(lab.minjun).get(f"/trainings/{lab.own_code.id}").text
    assert read(lab).archived_at is None


def test_a_training_is_handed_over(lab: Lab) -> None:
    browser, path = lab.browser(lab.seoyeon), f"/trainings/{lab.own_code.id}/hand-over"
    refused = browser.post(path, data={"owner": "stranger"})
    assert refused.status_code == 422 and problem_of(refused.text, "owner")
    assert browser.post(path, data={"owner": "minjun"}).status_code == 303
    assert read(lab).owner.name == "minjun"


def test_an_archived_training_is_in_the_archive_and_comes_back(lab: Lab) -> None:
    browser, path = lab.browser(lab.seoyeon), f"/trainings/{lab.own_code.id}"
    lists = f"/workspaces/{lab.workspace.id}/trainings"
    browser.post(f"{path}/archive")
    assert "own-code" not in browser.get(lists).text.split("<main")[1].split("archived")[0]
    assert "own-code" in browser.get(f"{lists}?shown=archived").text
    page = browser.get(path).text
    assert "archived" in page and f"{path}/jobs/new" not in page
    browser.post(f"{path}/unarchive")
    assert f"{path}/jobs/new" in browser.get(path).text


def test_what_depends_on_it_is_shown_before_it_is_deleted(lab: Lab) -> None:
    a_code_version(lab.cluster, lab.own_code, [("train.py", b"1")])
    job = a_job(lab.cluster, lab.own_code)
    browser, path = lab.browser(lab.seoyeon), f"/trainings/{lab.own_code.id}/delete"
    page = browser.get(path).text
    assert "1 job that has not ended" in page and f'action="{path}"' not in page
    assert browser.post(path).status_code == 422
    lab.ended(job, "exit.error", exit_code=1)
    page = browser.get(path).text
    assert "1 ended job" in page and f'action="{path}"' in page
    assert f'action="{path}"' not in lab.browser(lab.minjun).get(path).text
    assert browser.post(path, data={"job_files": "1"}).status_code == 303
    assert browser.get(f"/trainings/{lab.own_code.id}").status_code == 404
    assert browser.get(f"/jobs/{job.id}").status_code == 200


def test_the_objective_is_written_changed_and_removed(lab: Lab) -> None:
    browser, path = lab.browser(lab.seoyeon), f"/trainings/{lab.own_code.id}/edit"
    objective = {"objective_metric": "wer/validation", "objective_order": "lower"}
    assert browser.post(path, data=FORM | objective).status_code == 303
    assert (read(lab).objective_metric, read(lab).objective_is_lower_better) == ("wer/validation", True)
    page = browser.get(f"/trainings/{lab.own_code.id}").text
    assert "wer/validation" in page and "the lower value is better" in page
    form = browser.get(path).text
    assert 'value="wer/validation"' in form and '<option value="lower" selected' in form
    assert browser.post(path, data=FORM).status_code == 303
    assert read(lab).objective_metric == "wer/validation", "a form without the field leaves it"
    long = browser.post(path, data=FORM | objective | {"objective_metric": "a" * 101})
    assert long.status_code == 422 and problem_of(long.text, "objective_metric")
    assert browser.post(path, data=FORM | objective | {"objective_metric": ""}).status_code == 303
    assert (read(lab).objective_metric, read(lab).objective_is_lower_better) == (None, None)


def test_a_new_training_may_have_an_objective(lab: Lab) -> None:
    data = {
        "kind": "built_in", "name": "named", "description": "", "model": "lenet", "visibility": "public",
        "members": "", "objective_metric": "accuracy/test", "objective_order": "higher",
    }  # fmt: skip
    answer = lab.browser(lab.seoyeon).post(f"/workspaces/{lab.workspace.id}/trainings/new", data=data)
    assert answer.status_code == 303
    with lab.cluster.store.read() as session:
        made = session.query(Training).filter_by(name="named").one()
    assert (made.objective_metric, made.objective_is_lower_better) == ("accuracy/test", False)
