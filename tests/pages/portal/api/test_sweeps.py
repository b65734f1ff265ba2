"""Sweeps over REST and from the command: made at once, shown side by side, stopped."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.builders import a_user
from tests.pages.portal.cli.test_jobs import Run, run
from tests.pages.portal.rest_lab import Lab

__all__ = ["run"]


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


def test_a_dry_run_shows_the_list_and_makes_nothing(lab: Lab) -> None:
    answer = submit(lab, query="?dry_run=true", values={"seed": "1..50"})
    assert answer.status_code == 200
    found = answer.json
    assert (found["jobs"], found["starts_now"], found["unit_hours"]) == (50, True, None)
    assert (len(found["names"]), found["names"][1]) == (20, "digits-lenet-seed=2")
    assert lab.client.get("/api/v1/sweeps", headers=lab.headers()).json["items"] == []


def test_a_repeated_request_gets_the_same_sweep(lab: Lab) -> None:
    key = {"Idempotency-Key": "abc"}
    assert submit(lab, key).json["id"] == submit(lab, key).json["id"]
    assert submit(lab, key, name="other").status_code == 422


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"values": {}}, "/values"),
        ({"values": [1]}, "/values"),
        ({"values": {"epochs": [1, None]}}, "/values"),
        ({"values": {"epochs": [True]}}, "/values"),
        ({"values": {"epochs": [[1]]}}, "/values"),
        ({"values": {"epochs": [1, 0]}}, "/values/epochs"),
        ({"values": {"epochs": [1, 1]}}, "/values/epochs"),
        ({"values": {"speed": [1, 2]}}, "/values/speed"),
        ({"values": {"epochs": "1..99999"}}, "/values/epochs"),
        ({"values": {"epochs": list(range(1, 200)), "batch_size": list(range(1, 200))}}, "/values"),
        ({"values": {"epochs": [1, 2], "seed": [1, 2, 3]}, "kind": "list"}, "/values/epochs"),
        ({"variables": {"epochs": 3}}, "/values/epochs"),
        ({"kind": "random"}, "/kind"),
        ({"most_at_once": 0}, "/most_at_once"),
        ({"most_at_once": 1.5}, "/most_at_once"),
        ({"stop_on_trouble": "perhaps"}, "/stop_on_trouble"),
        ({"units": 99, "launcher": "horovod"}, "/units"),
        ({"surprise": 1}, "/surprise"),
    ],
)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_bad_body_names_the_field_in_the_callers_language(
    lab: Lab, changes: dict[str, Any], pointer: str, language: str
) -> None:
    answer = submit(lab, {"Accept-Language": language}, **changes)
    assert answer.status_code == 422
    assert answer.content_type == "application/problem+json"
    errors = answer.json["errors"]
    assert pointer in "".join(error["pointer"] for error in errors)
    message = errors[0]["message"]
    assert any("가" <= letter <= "힣" for letter in message) == (language == "ko"), message


def test_a_stranger_finds_no_sweep(lab: Lab) -> None:
    made = submit(lab).json["id"]
    headers = lab.headers(a_user(lab.cluster))
    assert lab.client.get(f"/api/v1/sweeps/{made}", headers=headers).status_code == 404
    assert lab.client.post(f"/api/v1/sweeps/{made}/stop", headers=headers).status_code == 404
    assert submit(lab, headers).status_code == 404


def test_the_command_submits_shows_and_stops(lab: Lab, run: Run) -> None:
    options = ("-t", "vision/digits-lenet", "-d", "digits", "-v", "epochs=1,2", "-v", "seed=1..3")
    preview = run("sweep", "submit", *options, "--dry-run").output
    assert "digits-lenet-epochs=1-seed=1" in preview and "6" in preview
    made = run("sweep", "submit", *options, "--at-once", "1", "--stop-on-trouble").stdout.strip()
    assert made.startswith("sweep-")
    shown = run("sweep", "show", made, "--sort", "seed").output
    assert "Waiting 6" in shown and "epochs" in shown and "seed" in shown
    assert made in run("sweep", "list").output
    assert "being stopped" in run("sweep", "stop", made).output
    run("sweep", "stop", made, expected=5)
    run("sweep", "show", "sweep-999", expected=4)
    run("sweep", "submit", "-t", "digits-lenet", "-d", "digits", "-v", "epochs=0,1", expected=6)
