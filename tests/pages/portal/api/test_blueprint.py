"""REST takes JSON objects of known fields alone."""

from typing import Any

import pytest

from portal.api import PROBLEM, ProblemSchema
from tests.pages.portal.rest_lab import Lab


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[1]", 422),
        (b'{"training_id": 1, "units": NaN}', 422),
        (b"[" * 100_000, 400),
        (b'{"units": ' + b"9" * 5000 + b"}", 400),
        (b'{"a":' * 80_000 + b"1" + b"}" * 80_000, 400),
        (b'{"command": [' + b'"x",' * 25_000 + b'"x"]}', 422),
        (b'{"command": ["' + b"x" * 600_000 + b'"]}', 413),
        (b"\xff\xfe", 400),
    ],
)
def test_what_is_not_a_json_object_is_refused_and_is_no_fault_of_ours(
    lab: Lab, body: bytes, status: int
) -> None:
    headers = {**lab.headers(), "Content-Type": "application/json"}
    answer = lab.client.post("/api/v1/jobs", data=body, headers=headers)
    assert answer.status_code == status
    assert answer.content_type == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "pointers"),
    [
        ("GET", "jobs/999999", None, 404, None),
        ("GET", "jobs?state=flying", None, 422, ["/state"]),
        ("POST", "jobs", {"units": 0, "colour": 1}, 422, ["/colour"]),
        ("GET", "queue?cursor=abc", None, 422, ["/cursor"]),
        ("GET", "queue?cursor=run-abc", None, 422, ["/cursor"]),
        ("POST", "jobs", [1], 422, [""]),
        ("PUT", "jobs", {}, 405, None),
        ("DELETE", "queue", None, 405, None),
    ],
)
def test_every_refusal_is_the_problem_that_the_description_shows(
    lab: Lab, method: str, path: str, body: Any, status: int, pointers: list[str] | None
) -> None:
    answer = lab.client.open(f"/api/v1/{path}", method=method, json=body, headers=lab.headers())
    assert (answer.status_code, answer.content_type) == (status, PROBLEM)
    problem = ProblemSchema().load(answer.json)
    assert problem["status"] == status
    if pointers is not None:
        assert set(pointers) <= {each["pointer"] for each in problem["errors"]}
    if status == 405:
        assert "GET" in answer.headers["Allow"].split(", ") and method not in answer.headers["Allow"]


def test_a_body_that_is_not_json_is_called_so(lab: Lab) -> None:
    headers = {**lab.headers(), "Content-Type": "application/json"}
    answer: Any = lab.client.post("/api/v1/jobs", data=b"{'units': 1}", headers=headers).json
    assert [each["code"] for each in answer["errors"]] == ["body.not_json"]


def test_each_operation_describes_what_it_sends_when_it_refuses(lab: Lab) -> None:
    described: Any = lab.client.get("/api/v1/openapi.json").json
    answers_by_name = described["components"]["responses"]
    for path, operations in described["paths"].items():
        for method in operations.keys() & {"get", "post", "put", "patch", "delete"}:
            operation = operations[method]
            answers = operation["responses"]
            refused = {status: answers[status] for status in answers if status >= "400"}
            assert {"401", "429", "503"} <= refused.keys() and "default" not in answers, (method, path)
            assert {"404", "422"} <= refused.keys() or "{" not in path, (method, path)
            assert {"409", "422"} <= refused.keys() or method == "get", (method, path)
            assert {"400", "413", "415"} <= refused.keys() or "requestBody" not in operation, (method, path)
            for status, each in refused.items():
                named = answers_by_name[each["$ref"].rpartition("/")[2]]
                assert list(named["content"]) == [PROBLEM], (method, path)
                assert ("Retry-After" in named.get("headers", {})) is (status in ("429", "503"))


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_body_of_another_kind_is_refused_as_such(lab: Lab, kind: str) -> None:
    headers = {**lab.headers(), **({"Content-Type": kind} if kind else {})}
    answer = lab.client.post("/api/v1/jobs", data=b'{"training_id": 1}', headers=headers)
    assert (answer.status_code, answer.json["code"]) == (415, "http.415")  # type: ignore[index]


def test_an_archive_in_json_is_refused_as_such(lab: Lab) -> None:
    path = f"/api/v1/trainings/{lab.training.id}/code/archive"
    answer = lab.client.post(path, json={"archive": "x"}, headers=lab.headers())
    assert answer.status_code == 415


@pytest.mark.parametrize("body", [b'{"units": 1, "units": 2}', b'{"variables": {"lr": "1", "lr": "2"}}'])
def test_a_field_that_stands_there_twice_is_refused(lab: Lab, body: bytes) -> None:
    headers = {**lab.headers(), "Content-Type": "application/json"}
    answer: Any = lab.client.post("/api/v1/jobs", data=body, headers=headers)
    assert (answer.status_code, answer.json["code"]) == (422, "body.field_twice")
    assert answer.json["errors"][0]["pointer"] in ("/units", "/lr")
