"""The OpenAPI description as a page for people: each request with what it takes and answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

from flask import Flask, current_app

METHODS = ("get", "post", "put", "patch", "delete")
REFERENCE = "#/components/schemas/"


@dataclass(frozen=True)
class RestField:
    """A parameter, or a field of a body; `kind` is its type in the words of JSON."""

    name: str
    kind: str
    is_required: bool
    description: str


@dataclass(frozen=True)
class RestRequest:
    """`answers` are the statuses with their short descriptions; errors are described once for all requests."""

    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[RestField, ...]
    body: tuple[RestField, ...]
    answer: tuple[RestField, ...]

    @property
    def anchor(self) -> str:
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "").lower()


@dataclass(frozen=True)
class RestTag:
    """The requests of one feature."""

    name: str
    requests: tuple[RestRequest, ...]


def read_rest_reference(app: Flask | None = None) -> tuple[RestTag, ...]:
    """The requests in the order of their paths. They are read once per process, because the description does not
    change while it runs.
    """
    api = (app or current_app).extensions["flask-smorest"]["apis"][""]["ext_obj"]
    return describe_api(api)


@lru_cache(maxsize=1)
def describe_api(api: Any) -> tuple[RestTag, ...]:
    return tuple(describe_tags(api.spec.to_dict()))


def describe_tags(spec: Mapping[str, Any]) -> Iterator[RestTag]:
    for name, requests in groupby(describe_requests(spec), lambda request: feature_of(request.path)):
        yield RestTag(name, tuple(requests))


def feature_of(path: str) -> str:
    """ "jobs" of "/api/v1/jobs/{job_id}"."""
    return path.split("/")[3]


def describe_requests(spec: Mapping[str, Any]) -> Iterator[RestRequest]:
    schemas = spec.get("components", {}).get("schemas", {})
    for path, item in sorted(spec["paths"].items()):
        for method in METHODS:
            if method in item:
                yield describe_request(method, path, item, item[method], schemas)


def describe_request(
    method: str, path: str, item: Mapping[str, Any], operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> RestRequest:
    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
    return RestRequest(
        method.upper(),
        path,
        operation.get("summary", ""),
        operation.get("description", ""),
        tuple(describe_parameter(each) for each in parameters if isinstance(each, dict) and "name" in each),
        tuple(describe_fields(json_schema(operation.get("requestBody", {})), schemas)),
        tuple(describe_fields(answer_schema(operation), schemas)),
    )


def describe_parameter(parameter: Mapping[str, Any]) -> RestField:
    return RestField(
        parameter["name"],
        kind_of(parameter.get("schema", {})),
        bool(parameter.get("required")),
        parameter.get("description", ""),
    )


def answer_schema(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a successful answer."""
    good = [answer for status, answer in operation.get("responses", {}).items() if status.startswith("2")]
    return json_schema(good[0]) if good else {}


def json_schema(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = content.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def describe_fields(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[RestField]:
    """The fields of an object by name; of a list those of its items."""
    schema = resolve(schema, schemas)
    if schema.get("type") == "array":
        schema = resolve(schema.get("items", {}), schemas)
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield RestField(name, kind_of(field), name in required, field.get("description", ""))
        if name == "items":
            for part in describe_fields(field, schemas):
                yield replace(part, name=f"items[].{part.name}", is_required=False)


def resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).removeprefix(REFERENCE)
    found: Mapping[str, Any] = schemas.get(name, {}) if name else schema
    return found


def kind_of(schema: Mapping[str, Any]) -> str:
    """ "integer or null", "list of string", "one of waiting, running", or the name of another object."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REFERENCE)
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"] if value is not None)
    if schema.get("type") == "array":
        return f"[{kind_of(schema.get('items', {}))}]"
    parts = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if parts:
        return " | ".join(kind_of(part) for part in parts)
    kinds = schema.get("type", "any")
    named = " | ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{named} ({schema['format']})" if "format" in schema else named
