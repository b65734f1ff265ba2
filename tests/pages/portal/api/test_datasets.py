"""The command finds a dataset by its name."""

from tests.pages.portal.rest_lab import Lab


def test_datasets_are_listed_by_name(lab: Lab) -> None:
    headers = lab.headers()
    (dataset,) = lab.client.get("/api/v1/datasets?name=digits", headers=headers).json["items"]
    assert (dataset["id"], dataset["workspace"]["name"]) == (lab.dataset.id, "vision")
    assert lab.client.get("/api/v1/datasets?name=none", headers=headers).json["items"] == []


def test_a_dataset_is_made_renamed_and_deleted(lab: Lab) -> None:
    headers, path = lab.headers(), "/api/v1/datasets"
    body: dict[str, object] = {"workspace_id": lab.workspace.id}
    made = lab.client.post(path, json=body | {"sample": True}, headers=headers)
    assert (made.status_code, made.json["name"], made.json["state"]) == (201, "digits-2", "preparing")
    for wrong in ({}, {"sample": True, "path": "/data"}):
        assert lab.client.post(path, json=body | wrong, headers=headers).status_code == 422
    registered = lab.client.post(path, json=body | {"name": "a", "path": "/etc"}, headers=headers)
    assert registered.status_code in (403, 422)
    mine = f"{path}/{made.json['id']}"
    assert lab.client.patch(mine, json={"name": "mine"}, headers=headers).json["name"] == "mine"
    taken = lab.client.patch(mine, json={"name": "digits"}, headers=headers)
    assert (taken.status_code, taken.json["errors"][0]["pointer"]) == (422, "/name")
    assert lab.client.delete(mine, headers=headers).status_code == 204
    assert lab.client.get(mine, headers=headers).status_code == 404
    foreign = f"{path}/{lab.dataset.id}"
    assert lab.client.patch(foreign, json={"name": "b"}, headers=headers).status_code == 403
    assert lab.client.delete(foreign, headers=headers).status_code == 403
