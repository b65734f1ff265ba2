"""The command finds a dataset by its name."""

from tests.pages.portal.rest_lab import Lab


def test_datasets_are_listed_by_name(lab: Lab) -> None:
    headers = lab.headers()
    (dataset,) = lab.client.get("/api/v1/datasets?name=digits", headers=headers).json["items"]
    assert (dataset["id"], dataset["workspace"]["name"]) == (lab.dataset.id, "vision")
    assert lab.client.get("/api/v1/datasets?name=none", headers=headers).json["items"] == []
