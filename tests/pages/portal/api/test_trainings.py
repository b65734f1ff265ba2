"""Trainings over REST: found by name, made, edited, archived and deleted."""

import base64

import pytest

from cluster.services import trainings
from tests.builders import a_user, actor_of
from tests.pages.portal.rest_lab import Lab

TRAININGS = "/api/v1/trainings"


def code_file(path: str, content: bytes) -> dict[str, str]:
    return {"path": path, "content": base64.b64encode(content).decode()}


def test_trainings_are_listed_by_name(lab: Lab) -> None:
    headers = lab.headers()
    (training,) = lab.client.get(f"{TRAININGS}?name=digits-lenet", headers=headers).json["items"]
    assert (training["id"], training["model"], training["owner"]) == (lab.training.id, "lenet", "minji")
    assert lab.client.get(f"{TRAININGS}?name=none", headers=headers).json["items"] == []


def test_a_training_is_made_of_code_or_of_a_model(lab: Lab) -> None:
    headers = lab.headers()
    body = {"workspace_id": lab.workspace.id, "name": "mine", "files": [code_file("net/a.py", b"1")]}
    answer = lab.client.post(TRAININGS, json=body, headers=headers)
    assert (answer.status_code, answer.json["kind"], answer.json["code_version"]) == (201, "advanced", 1)
    assert answer.headers["Location"] == f"{TRAININGS}/{answer.json['id']}"
    body = {"workspace_id": lab.workspace.id, "name": "built-in", "model": "mlp"}
    answer = lab.client.post(TRAININGS, json=body, headers=headers)
    assert (answer.json["model"], answer.json["code_version"]) == ("mlp", None)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"name": "Two Words"}, "/name"),
        ({"files": []}, "/code"),
        ({"files": [{"path": "a.py", "content": "no base64!"}]}, "/files"),
        ({"files": [code_file("../a.py", b"1")]}, "/code"),
        ({"members": ["nobody-here"]}, "/members"),
        ({"unknown": 1}, "/unknown"),
    ],
)
def test_a_refused_training_names_the_field(lab: Lab, changes: dict[str, object], pointer: str) -> None:
    body = {"workspace_id": lab.workspace.id, "name": "mine", "files": [code_file("a.py", b"1")]}
    answer = lab.client.post(TRAININGS, json=body | changes, headers=lab.headers())
    assert answer.status_code == 422
    assert answer.json["errors"][0]["pointer"] == pointer, answer.json


def test_a_training_is_edited_archived_and_handed_over(lab: Lab) -> None:
    headers, path = lab.headers(), f"{TRAININGS}/{lab.training.id}"
    answer = lab.client.patch(path, json={"name": "renamed", "archived": True}, headers=headers)
    assert (answer.json["name"], answer.json["archived_at"] is not None) == ("renamed", True)
    assert lab.client.get(TRAININGS, headers=headers).json["items"] == []
    assert len(lab.client.get(f"{TRAININGS}?archived=true", headers=headers).json["items"]) == 1
    other = a_user(lab.cluster, "other")
    answer = lab.client.patch(path, json={"owner": other.name}, headers=headers)
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "/owner")
    assert lab.client.patch(path, json={"archived": False}, headers=headers).json["archived_at"] is None
    assert lab.client.patch(path, json={"name": "a"}, headers=lab.headers(other)).status_code == 404


def test_a_training_is_deleted_after_its_dependents_were_asked_for(lab: Lab) -> None:
    headers, path = lab.headers(), f"{TRAININGS}/{lab.training.id}"
    assert lab.client.get(f"{path}/dependents", headers=headers).json["live_jobs"] == 0
    assert lab.client.delete(path, headers=headers).status_code == 204
    assert lab.client.get(path, headers=headers).status_code == 404
    assert trainings.list_trainings(lab.cluster, actor_of(lab.member)) == []


def test_a_token_that_only_reads_changes_nothing(lab: Lab) -> None:
    headers = lab.headers(scopes=("read",))
    path = f"{TRAININGS}/{lab.training.id}"
    assert lab.client.patch(path, json={"name": "a"}, headers=headers).status_code == 403
    assert lab.client.delete(path, headers=headers).status_code == 403
    assert lab.client.get(path, headers=headers).status_code == 200
