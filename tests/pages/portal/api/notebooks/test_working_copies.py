"""The files of a notebook become a version over REST, and its packages an environment."""

from cluster.domain.states import TrainingKind
from cluster.services.storage import folders, notebook_folders
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace
from portal.api.notebooks import working_copies
from tests.builders import a_training
from tests.pages.portal.rest_lab import Lab


def test_without_files_it_says_what_to_do(lab: Lab) -> None:
    own = a_training(lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED)
    address = f"/api/v1/trainings/{own.id}/working-copy/save"
    answer = lab.client.post(address, json={}, headers=lab.headers())
    assert answer.status_code == 422 and answer.json["errors"][0]["code"] == "notebook.no_files"
    wrong = lab.client.post(address, json={"overwrite": "perhaps"}, headers=lab.headers())
    assert wrong.status_code == 422 and wrong.json["errors"][0]["pointer"] == "/overwrite"
    assert set(working_copies.SaveBody().fields) == {"overwrite"}


def test_packages_become_an_environment_that_the_manager_approves(lab: Lab) -> None:
    own = a_training(lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED)
    address = f"/api/v1/trainings/{own.id}/working-copy/environment"
    without = lab.client.post(address, json={"name": "kept"}, headers=lab.headers())
    assert without.status_code == 422 and without.json["errors"][0]["code"] == "notebook.no_packages"
    write_packages(lab, own)
    wrong = lab.client.post(address, json={"name": "A B"}, headers=lab.headers())
    assert wrong.status_code == 422 and wrong.json["errors"][0]["pointer"] == "/name"
    made = lab.client.post(address, json={"name": "kept"}, headers=lab.headers())
    assert (made.status_code, made.json["state"], made.json["source"]) == (201, "unapproved", "notebook")
    assert made.json["requirements"] == "humanize==4.17.0\n" and made.json["base_id"]
    mine = f"/api/v1/environments/{made.json['id']}"
    assert lab.client.post(f"{mine}/approve", headers=lab.headers()).status_code == 403
    with lab.cluster.store.read() as session:
        manager = lab.headers(session.get_one(Workspace, lab.workspace.id).manager)
    approved = lab.client.post(f"{mine}/approve", headers=manager)
    assert (approved.status_code, approved.json["state"]) == (202, "building")
    assert lab.client.post(f"{mine}/decline", headers=manager).status_code == 409
    other = lab.client.post(address, json={"name": "other"}, headers=lab.headers()).json["id"]
    assert lab.client.post(f"/api/v1/environments/{other}/decline", headers=manager).status_code == 204


def write_packages(lab: Lab, training: Training) -> None:
    settings, owner = lab.cluster.settings, lab.member.id
    folders.ensure_workspace_folder(settings, training.workspace_id)
    notebook_folders.ensure_working_copy_folder(settings, training.workspace_id, training.id, owner)
    copy = notebook_folders.working_copy_folder(settings, training.workspace_id, training.id, owner)
    (copy / "packages/lib/python3.11/site-packages/humanize-4.17.0.dist-info").mkdir(parents=True)
