"""A client that a generator made of the description understands each refusal (openapi-python-client)."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from flask import Flask

from cluster.portal_paths import API
from tests.pages.portal.rest_lab import Lab

PACKAGE = "generated_client"


@pytest.fixture(scope="module")
def generated(one_portal: Flask, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the package, which can be imported meanwhile."""
    folder = tmp_path_factory.mktemp("client")
    description = folder / "openapi.json"
    description.write_text(json.dumps(one_portal.test_client().get(f"{API}/openapi.json").json))
    words = ["generate", "--path", str(description), "--meta", "none", "--output-path", str(folder / PACKAGE)]
    made = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *words], capture_output=True, text=True, check=True
    )
    assert "Unable to" not in made.stdout + made.stderr, made.stdout
    sys.path.insert(0, str(folder))
    try:
        yield folder / PACKAGE
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


@pytest.fixture
def client(lab: Lab, one_portal: Flask, generated: Path) -> Any:
    """Each answer that is not described raises an error."""
    made = importlib.import_module(f"{PACKAGE}.client")
    token = lab.headers()["Authorization"].split()[1]
    client = made.AuthenticatedClient("http://portal", token, raise_on_unexpected_status=True)
    transport = httpx.WSGITransport(one_portal)
    client.set_httpx_client(
        httpx.Client(transport=transport, base_url="http://portal", headers=lab.headers())
    )
    return client


def operation(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.api.{name}")


def model(name: str, values: dict[str, Any]) -> Any:
    return getattr(importlib.import_module(f"{PACKAGE}.models"), name).from_dict(values)


def job_body(lab: Lab) -> Any:
    values = {"training_id": lab.training.id, "dataset_id": lab.dataset.id, "variables": {"epochs": 3}}
    return model("JobBody", values)


def test_an_answer_is_a_typed_object(client: Any, lab: Lab) -> None:
    body = job_body(lab)
    made = operation("api_jobs.post_api_v1_jobs").sync_detailed(client=client, body=body)
    assert (made.status_code, made.parsed.training.name) == (201, "digits-lenet")


@pytest.mark.parametrize(
    ("name", "arguments", "status", "code", "pointers"),
    [
        ("api_jobs.get_api_v1_jobs_job_id", {"job_id": 999_999}, 404, "not_found.job", None),
        ("api_jobs.get_api_v1_jobs", {"limit": 0}, 422, "http.422", ["/limit"]),
        ("api_jobs.post_api_v1_jobs_job_id_release", {"job_id": 1}, 403, "forbidden.", None),
        ("api_nodes.post_api_v1_nodes_node_id_undrain", {"node_id": 1}, 403, "forbidden.administrators_only", None),
    ],
)  # fmt: skip
def test_a_refusal_is_a_typed_problem(
    client: Any,
    lab: Lab,
    name: str,
    arguments: dict[str, Any],
    status: int,
    code: str,
    pointers: list[str] | None,
) -> None:
    body = job_body(lab)
    operation("api_jobs.post_api_v1_jobs").sync_detailed(client=client, body=body)
    answer = operation(name).sync_detailed(client=client, **arguments)
    problem = answer.parsed
    assert (int(answer.status_code), type(problem).__name__, problem.status) == (status, "Problem", status)
    assert problem.code.startswith(code) and problem.detail and problem.title
    if pointers is not None:
        assert [each.pointer for each in problem.errors] == pointers


def test_a_body_that_the_models_cannot_hold_is_a_problem_too(client: Any, lab: Lab) -> None:
    body = SimpleNamespace(to_dict=lambda: {"training_id": lab.training.id, "colour": "red"})
    refused = operation("api_jobs.post_api_v1_jobs").sync_detailed(client=client, body=body)
    assert [each.code for each in refused.parsed.errors] == ["body.unknown_field"]


def test_a_missing_token_is_a_problem_that_says_how_to_bring_one(client: Any, one_portal: Flask) -> None:
    http = httpx.Client(transport=httpx.WSGITransport(one_portal), base_url="http://portal")
    client.set_httpx_client(http)
    answer = operation("api_queue.get_api_v1_queue").sync_detailed(client=client)
    assert (int(answer.status_code), answer.parsed.status) == (401, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_too_many_requests_are_a_problem_that_says_when_to_come_again(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.web.concurrency_limit.MAX_OPEN_REQUESTS", 0)
    answer = operation("api_queue.get_api_v1_queue").sync_detailed(client=client)
    assert (int(answer.status_code), answer.parsed.code) == (429, "http.429")
    assert int(answer.headers["Retry-After"]) > 0
