"""Environments over REST: added, read with what is in them, shared, chosen and deleted."""

import pytest

from cluster.store.workspaces import Workspace
from tests.builders import a_job, an_administrator, an_environment
from tests.pages.portal.rest_lab import Lab

PATH = "/api/v1/environments"


def manager_of(lab: Lab) -> dict[str, str]:
    with lab.cluster.store.read() as session:
        return lab.headers(session.get_one(Workspace, lab.workspace.id).manager)


def test_one_is_added_read_and_deleted(lab: Lab) -> None:
    body = {"name": "torch-2.7", "requirements": "torch==2.7.1", "workspace_ids": [lab.workspace.id]}
    assert lab.client.post(PATH, json=body, headers=lab.headers()).status_code == 403
    manager = manager_of(lab)
    made = lab.client.post(PATH, json=body, headers=manager)
    assert (made.status_code, made.json["state"], made.json["requirements"]) == (
        201,
        "building",
        "torch==2.7.1",
    )
    mine = made.headers["Location"]
    assert lab.client.post(f"{mine}/cancel", headers=manager).json["error"]["code"] == "environment.cancelled"
    assert lab.client.post(f"{mine}/rebuild", headers=manager).status_code == 202
    lab.client.post(f"{mine}/cancel", headers=manager)
    assert lab.client.delete(mine, headers=manager).status_code == 204
    names = [row["name"] for row in lab.client.get(PATH, headers=manager).json["items"]]
    assert names == ["default"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"requirements": "-e ."}, "/requirements"),
        ({"requirements": "a\n" * 3000}, "/requirements"),
        ({"name": "A"}, "/name"),
        ({"python": "2.7"}, "/python"),
    ],
)
def test_a_refusal_points_at_the_field(lab: Lab, changes: dict[str, object], pointer: str) -> None:
    body = {"name": "torch-2.7", "requirements": "torch", "workspace_ids": [lab.workspace.id]} | changes
    answer = lab.client.post(PATH, json=body, headers=manager_of(lab))
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, pointer)


def test_what_is_left_out_of_a_change_stays(lab: Lab) -> None:
    made = an_environment(lab.cluster, "torch-2.7", [lab.workspace])
    changed = lab.client.patch(f"{PATH}/{made.id}", json={"description": "new"}, headers=manager_of(lab)).json
    assert (changed["description"], [place["name"] for place in changed["workspaces"]]) == ("new", ["vision"])


def test_a_job_names_one_and_says_in_what_it_ran(lab: Lab) -> None:
    contents = [["python", "3.11.2", ""], ["tensorflow-cpu", "2.18", ""], ["horovod", "0.28.1", ""]]
    made = an_environment(lab.cluster, "tf-2.18", contents=contents)
    body = {"training_id": lab.training.id, "dataset_id": lab.dataset.id, "environment_id": made.id}
    job = lab.client.post("/api/v1/jobs", json=body, headers=lab.headers()).json
    assert job["environment_id"] == made.id
    found = lab.client.get(f"/api/v1/jobs/{job['id']}", headers=lab.headers()).json
    assert (found["environment_id"], found["ran_in"]) == (made.id, None)
    listed = lab.client.get("/api/v1/jobs", headers=lab.headers()).json["items"]
    assert listed[0]["environment_id"] == made.id
    wrong = lab.client.post("/api/v1/jobs", json=body | {"environment_id": 987_654}, headers=lab.headers())
    assert wrong.json["errors"][0] == {
        "pointer": "/environment",
        "code": "job.environment_unknown",
        "message": "There is no environment 987654 that this workspace may choose.",
    }
    use = lab.client.get(f"{PATH}/{made.id}", headers=lab.headers()).json["use"]
    assert use == {"trainings": 0, "jobs": 1}
    administrator = lab.headers(an_administrator(lab.cluster))
    assert lab.client.delete(f"{PATH}/{made.id}", headers=administrator).status_code == 409


def test_a_training_names_one_for_its_jobs(lab: Lab) -> None:
    made = an_environment(lab.cluster, "torch-2.7")
    path = f"/api/v1/trainings/{lab.training.id}"
    for chosen, expected in ((made.id, made.id), (0, None)):
        changed = lab.client.patch(path, json={"environment_id": chosen}, headers=lab.headers())
        assert changed.json["environment_id"] == expected
    assert a_job(lab.cluster, lab.training, lab.member).environment_id is None
