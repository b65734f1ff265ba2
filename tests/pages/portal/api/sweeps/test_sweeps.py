"""Sweeps over REST and from the command: made at once, shown side by side, stopped."""

from typing import Any

from werkzeug.test import TestResponse

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.builders import a_user
from tests.pages.portal.rest_lab import Lab


def submit(lab: Lab, headers: dict[str, str] | None = None, query: str = "", **body: Any) -> TestResponse:
    wanted = {"training_id": lab.training.id, "dataset_id": lab.dataset.id, "values": {"epochs": [1, 2, 3]}}
    return lab.client.post(
        f"/api/v1/sweeps{query}", json=wanted | body, headers={**lab.headers(), **(headers or {})}
    )


def test_a_sweep_is_made_shown_and_stopped(lab: Lab) -> None:
    answer = submit(lab, values={"epochs": [1, 2], "learning_rate": "0.1, 0.01"}, most_at_once=1)
    assert answer.status_code == 201
    made = answer.json
    assert (made["jobs"], made["kind"], made["most_at_once"]) == (4, "grid", 1)
    assert answer.headers["Location"].endswith(f"/api/v1/sweeps/{made['id']}")
    with lab.cluster.store.write() as session:
        job = session.query(Job).filter_by(sweep_id=made["id"], sweep_number=2).one()
        job.state, job.results = JobState.FINISHED, {"accuracy/validation": [0.1, 0.9, 0.8]}
        best_id = job.id
    shown = lab.client.get(f"/api/v1/sweeps/{made['id']}", headers=lab.headers()).json
    assert shown["states"] == {"waiting": 3, "finished": 1}
    assert (shown["best"], shown["metric"]) == ({"job_id": best_id, "value": 0.9}, "accuracy/validation")
    assert shown["table"][0]["values"] == {"epochs": 1, "learning_rate": 0.01}
    assert shown["table"][0]["results"] == {"accuracy/validation": 0.9}
    assert shown["differing"] == ["epochs", "learning_rate"]
    sort = lab.client.get(f"/api/v1/sweeps/{made['id']}?sort=job&limit=2", headers=lab.headers()).json
    assert [row["number"] for row in sort["table"]] == [1, 2]
    listed = lab.client.get("/api/v1/sweeps", headers=lab.headers()).json
    assert [sweep["id"] for sweep in listed["items"]] == [made["id"]]
    stopped = lab.client.post(f"/api/v1/sweeps/{made['id']}/stop", headers=lab.headers())
    assert (stopped.status_code, stopped.json["stop"]["code"]) == (202, "sweep.stopped_by")
    again = lab.client.post(f"/api/v1/sweeps/{made['id']}/stop", headers=lab.headers())
    assert again.status_code == 409


def test_a_repeated_request_gets_the_same_sweep(lab: Lab) -> None:
    key = {"Idempotency-Key": "abc"}
    assert submit(lab, key).json["id"] == submit(lab, key).json["id"]
    assert submit(lab, key, name="other").status_code == 422


def test_a_stranger_finds_no_sweep(lab: Lab) -> None:
    made = submit(lab).json["id"]
    headers = lab.headers(a_user(lab.cluster))
    assert lab.client.get(f"/api/v1/sweeps/{made}", headers=headers).status_code == 404
    assert lab.client.post(f"/api/v1/sweeps/{made}/stop", headers=headers).status_code == 404
    assert submit(lab, headers).status_code == 404
