"""Notebooks over REST: the same as the pages, and never a secret."""

from pathlib import Path

from cluster.domain.states import TrainingKind
from cluster.services.notebooks.editor_environment import ensure_editor
from cluster.services.people.users import service_actor
from tests.builders import a_training
from tests.pages.portal.rest_lab import Lab

ADDRESS = "/api/v1/notebooks"


def test_one_is_started_listed_and_stopped(lab: Lab) -> None:
    own = a_training(lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED)
    headers, body = lab.headers(), {"training_id": own.id}
    refused = lab.client.post(ADDRESS, json=body, headers=headers)
    assert refused.status_code == 422 and refused.json["errors"][0]["code"] == "notebook.no_editor"
    ensure_editor(lab.cluster, service_actor(lab.cluster), Path("/editor"), is_built=True)
    made = lab.client.post(ADDRESS, json=body | {"time_limit_seconds": 3600}, headers=headers)
    assert made.status_code == 201 and made.json["state"] == "waiting" and not made.json["is_ready"]
    job_id = made.json["job_id"]
    assert made.json["url"].endswith(f"/jobs/{job_id}/notebook")
    assert lab.client.post(ADDRESS, json=body, headers=headers).json["job_id"] == job_id
    (listed,) = lab.client.get(ADDRESS, headers=headers).json["items"]
    assert listed == lab.client.get(f"{ADDRESS}/{job_id}", headers=headers).json
    assert "token" not in str(listed)
    assert lab.client.post(f"{ADDRESS}/{job_id}/keep", headers=headers).status_code == 409
    assert lab.client.post(f"/api/v1/jobs/{job_id}/stop", headers=headers).status_code == 202
    assert lab.client.get(ADDRESS, headers=headers).json["items"] == []
