"""A git source over REST, and the commit on versions and jobs."""

import pytest

from cluster.domain.states import OperationState, TrainingKind
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, GitSource, Training
from tests.builders import a_code_version, a_job, a_training, a_user
from tests.pages.portal.rest_lab import Lab

URL = "https://git.lab.example/net.git"
TOKEN = "glpat-4567890123456789"


@pytest.fixture
def training(lab: Lab) -> Training:
    made = a_training(lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED)
    a_code_version(lab.cluster, made, [("train.py", b"1")])
    return made


def test_a_source_is_set_fetched_and_removed(lab: Lab, training: Training) -> None:
    path, headers = f"/api/v1/trainings/{training.id}/git", lab.headers()
    assert lab.client.get(path, headers=headers).get_json() == {"url": None}
    body = {"url": URL, "credential": "token", "token": TOKEN}
    answer = lab.client.put(path, json=body, headers=headers)
    assert (answer.status_code, answer.get_json()["url"], answer.get_json()["state"]) == (200, URL, None)
    assert TOKEN not in answer.text
    assert lab.client.put(path, json={"url": "file:///x"}, headers=headers).status_code == 422
    asked = lab.client.post(f"{path}/fetch", headers=headers)
    assert (asked.status_code, asked.get_json()["state"]) == (202, "requested")
    with lab.cluster.store.write() as session:
        operation = session.get_one(Operation, asked.get_json()["operation_id"])
        operation.state, operation.error_code = OperationState.FAILED, "git.too_large"
    failed = lab.client.get(path, headers=headers).get_json()
    assert (failed["state"], failed["error"]["code"]) == ("failed", "git.too_large")
    assert lab.client.delete(path, headers=headers).status_code == 204
    assert lab.client.delete(path, headers=headers).status_code == 204
    assert lab.client.get(path, headers=lab.headers(a_user(lab.cluster))).status_code == 404


def test_a_job_says_its_commit(lab: Lab, training: Training) -> None:
    job = a_job(lab.cluster, training, lab.member, code_version=1)
    assert lab.client.get(f"/api/v1/jobs/{job.id}", headers=lab.headers()).get_json()["commit"] is None
    with lab.cluster.store.write() as session:
        version = session.get_one(CodeVersion, (training.id, 1))
        version.commit_id, version.commit_author, version.commit_subject = "c" * 40, "Min", "Fix"
        session.add(
            GitSource(
                training_id=training.id, url=URL, credential="none", set_by=lab.member.id,
                set_at=lab.cluster.clock(), found_version=1,
            )
        )  # fmt: skip
    expected = {"id": "c" * 40, "author": "Min", "subject": "Fix"}
    assert lab.client.get(f"/api/v1/jobs/{job.id}", headers=lab.headers()).get_json()["commit"] == expected
    found = lab.client.get(f"/api/v1/trainings/{training.id}/git", headers=lab.headers()).get_json()
    assert (found["commit"], found["version"], found["is_new"]) == (expected, 1, False)
    (version,) = lab.client.get(f"/api/v1/trainings/{training.id}/code", headers=lab.headers()).get_json()[
        "items"
    ]
    assert version["commit"] == expected
