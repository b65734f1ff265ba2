"""An OpenAPI description becomes rows that people read."""

from typing import Any

import pytest

from portal.presenters.guidance.rest_reference import RestField, describe_requests, describe_tags, kind_of

JOB = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "integer"},
        "state": {"enum": ["waiting", "running"], "description": "Now"},
    },
}
PAGE = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}},
}
SPEC: dict[str, Any] = {
    "components": {"schemas": {"Job": JOB, "JobPage": PAGE}},
    "paths": {
        "/api/v1/jobs/{job_id}": {
            "parameters": [{"name": "job_id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "summary": "One job.",
                "responses": {"200": {"content": {"application/json": {"schema": JOB}}}},
            },
        },
        "/api/v1/jobs": {
            "get": {
                "responses": {
                    "200": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobPage"}}}
                    }
                }
            },
            "post": {
                "requestBody": {"content": {"application/json": {"schema": JOB}}},
                "responses": {"201": {}},
            },
        },
        "/api/v1/nodes": {"get": {"responses": {}}},
    },
}


def test_requests_stand_by_feature_and_path() -> None:
    tags = list(describe_tags(SPEC))
    assert [tag.name for tag in tags] == ["jobs", "nodes"]
    assert [(request.method, request.path) for request in tags[0].requests] == [
        ("GET", "/api/v1/jobs"),
        ("POST", "/api/v1/jobs"),
        ("GET", "/api/v1/jobs/{job_id}"),
    ]
    anchors = [request.anchor for tag in tags for request in tag.requests]
    assert len(set(anchors)) == len(anchors) and anchors[2] == "get-api-v1-jobs-job_id"


def test_a_request_says_what_it_takes_and_answers() -> None:
    listed, made, one, _nodes = describe_requests(SPEC)
    number, state = (
        RestField("id", "integer", True, ""),
        RestField("state", "waiting | running", False, "Now"),
    )
    assert made.body == (number, state) and made.answer == ()
    assert one.parameters == (RestField("job_id", "integer", True, ""),) and one.answer == (number, state)
    assert [field.name for field in listed.answer] == ["items", "items[].id", "items[].state"]
    assert listed.answer[0].kind == "[Job]"


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string", "format": "date-time"}, "string (date-time)"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"anyOf": [{"$ref": "#/components/schemas/Job"}, {"type": "null"}]}, "Job | null"),
        ({"enum": ["a", None]}, "a"),
        ({}, "any"),
    ],
)
def test_types_are_in_the_words_of_json(schema: dict[str, Any], kind: str) -> None:
    assert kind_of(schema) == kind
