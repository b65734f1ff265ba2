"""REST submits, shows and stops jobs by the rules of the pages."""

from typing import Any

import pytest
from openapi_spec_validator import validate
from sqlalchemy import select

from cluster.domain.states import UnitKind
from cluster.store.environments import Environment
from cluster.store.nodes import Unit
from tests.builders import a_user
from tests.pages.portal.rest_lab import Lab


def submit(lab: Lab, **changes: Any) -> Any:
    headers = {**lab.headers(), **changes.pop("headers", {})}
    query = changes.pop("query", {})
    body = {
        "training_id": lab.training.id,
        "dataset_id": lab.dataset.id,
        "variables": {"epochs": 3},
        **changes,
    }
    return lab.client.post("/api/v1/jobs", json=body, headers=headers, query_string=query)


def test_a_job_is_submitted_listed_shown_explained_and_stopped(lab: Lab) -> None:
    made = submit(lab, name="first")
    assert made.status_code == 201
    job = made.json
    assert (job["state"], job["variables"]["epochs"], job["unit_kind"]) == ("waiting", 3, "cpu_slot")
    assert made.headers["Location"] == f"/api/v1/jobs/{job['id']}"
    headers = lab.headers()
    listed = lab.client.get("/api/v1/jobs?mine=true&state=waiting", headers=headers).json
    assert [one["id"] for one in listed["items"]] == [job["id"]]
    why = lab.client.get(f"/api/v1/jobs/{job['id']}/why", headers=headers).json
    assert why["reason"]["code"] == "waiting.submitted"
    stopped = lab.client.post(f"/api/v1/jobs/{job['id']}/stop", headers=headers)
    assert (stopped.status_code, stopped.json["state"]) == (202, "stopped")
    again = lab.client.post(f"/api/v1/jobs/{job['id']}/stop", headers=headers)
    assert again.status_code == 409


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"units": -1}, "/units"),
        ({"units": 10**9, "launcher": "horovod"}, "/units"),
        ({"units": 0.5}, "/units"),
        ({"units": "1; rm"}, "/units"),
        ({"training_id": "1"}, "/training_id"),
        ({"training_id": 10**30}, "/training_id"),
        ({"dataset_id": -1}, "/dataset_id"),
        ({"role": "administrator"}, "/role"),
        ({"variables": {"learning_rate": "NaN"}}, "/variables/learning_rate"),
        ({"variables": {"learning_rate": -1}}, "/variables/learning_rate"),
        ({"variables": {"nonsense": 1}}, "/variables/nonsense"),
        ({"variables": {"epochs": None}}, "/variables/epochs"),
        ({"variables": [1]}, "/variables"),
        ({"name": "x" * 10_000}, "/name"),
        ({"name": "a\nb"}, "/name"),
        ({"dataset_id": 999}, "/dataset"),
        ({"launcher": "slurm"}, "/launcher"),
        ({"time_limit_seconds": 1}, "/time_limit_seconds"),
        ({"priority": 10**12}, "/priority"),
        ({"command": ["x"] * 1001}, "/command"),
    ],
)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_bad_body_names_the_field_in_the_callers_language(
    lab: Lab, changes: dict[str, Any], pointer: str, language: str
) -> None:
    answer = submit(lab, headers={"Accept-Language": language}, **changes)
    assert answer.status_code == 422
    assert answer.content_type == "application/problem+json"
    problem = answer.json
    assert pointer in "".join(error["pointer"] for error in problem["errors"])
    message = problem["errors"][0]["message"]
    assert any("가" <= letter <= "힣" for letter in message) == (language == "ko"), message


@pytest.mark.parametrize(
    "query", ["state=flying", "limit=0", "limit=1e9", "cursor=x", "surprise=1", "mine=perhaps"]
)
def test_a_bad_query_is_refused(lab: Lab, query: str) -> None:
    assert lab.client.get(f"/api/v1/jobs?{query}", headers=lab.headers()).status_code == 422


def test_lists_go_on_where_the_page_before_ended(lab: Lab) -> None:
    ids = [submit(lab).json["id"] for _ in range(3)]
    headers = lab.headers()
    first = lab.client.get("/api/v1/jobs?limit=2", headers=headers).json
    rest = lab.client.get(f"/api/v1/jobs?limit=2&cursor={first['next_cursor']}", headers=headers).json
    assert [job["id"] for job in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next_cursor"] is None


def test_without_a_living_token_nothing_is_told(lab: Lab) -> None:
    for headers in ({}, {"Authorization": "Bearer gc_1_wrong"}, {"Authorization": "Basic x"}):
        answer = lab.client.get("/api/v1/jobs", headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    reading = lab.headers(scopes=("read",))
    assert lab.client.get("/api/v1/jobs", headers=reading).status_code == 200
    assert lab.client.post("/api/v1/jobs", json={}, headers=reading).status_code == 403


def test_foreign_things_do_not_exist(lab: Lab) -> None:
    job = submit(lab).json["id"]
    stranger = lab.headers(a_user(lab.cluster))
    for path in (f"jobs/{job}", f"jobs/{job}/why", f"jobs/{job}/log"):
        assert lab.client.get(f"/api/v1/{path}", headers=stranger).status_code == 404
    assert lab.client.post(f"/api/v1/jobs/{job}/stop", headers=stranger).status_code == 404
    body = {"training_id": lab.training.id}
    assert lab.client.post("/api/v1/jobs", json=body, headers=stranger).status_code == 404
    for path in ("jobs", "workspaces", "trainings", "datasets"):
        assert lab.client.get(f"/api/v1/{path}", headers=stranger).json["items"] == []


def test_the_description_is_openapi_3_1(lab: Lab) -> None:
    described = lab.client.get("/api/v1/openapi.json").json
    validate(described)
    assert described["openapi"] == "3.1.0"
    assert "/api/v1/jobs/{job_id}/why" in described["paths"]


@pytest.mark.parametrize("query", [{}, {"dry_run": "true"}])
def test_a_gpu_job_without_an_environment_for_gpus_is_refused(lab: Lab, query: dict[str, str]) -> None:
    with lab.cluster.store.write() as session:
        for unit in session.scalars(select(Unit)):
            unit.kind = UnitKind.GPU
        session.scalars(select(Environment)).one().contents = [["tensorflow-cpu", "2.18.1", ""]]
    answer = submit(lab, query=query)
    assert answer.status_code == 422, answer.text
    (error,) = answer.json["errors"]
    assert (error["pointer"], error["code"]) == ("/units", "job.no_gpu_environment")
    assert "computes on CPUs only" in error["message"] and "Kubernetes" in error["message"]
    assert lab.client.get("/api/v1/jobs", headers=lab.headers()).json["items"] == []
