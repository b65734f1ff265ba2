"""The command finds a training by its name."""

from tests.pages.portal.rest_lab import Lab


def test_trainings_are_listed_by_name(lab: Lab) -> None:
    headers = lab.headers()
    (training,) = lab.client.get("/api/v1/trainings?name=digits-lenet", headers=headers).json["items"]
    assert (training["id"], training["model"], training["owner"]) == (lab.training.id, "lenet", "minji")
    assert lab.client.get("/api/v1/trainings?name=none", headers=headers).json["items"] == []
