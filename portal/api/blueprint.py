"""The base of every REST blueprint: strict parsing of bodies and queries, coded sentences in answers, and in the
description each status with which an operation refuses.
"""

import json
from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

from flask import Request
from flask_smorest import Blueprint
from marshmallow import RAISE, Schema
from webargs.flaskparser import FlaskParser
from werkzeug.datastructures import CombinedMultiDict
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from cluster.domain.errors import Refused
from cluster.words.sentences import sentence
from portal.i18n.translate import request_language
from portal.web.route_permissions import ROUTE_RULES, SAFE_METHODS, RouteRule
from portal.web.uploads import ARCHIVE_ENDPOINTS

Decorated = TypeVar("Decorated")


class TypedDecorator(Protocol):
    """A decorator that keeps the type of the function."""

    def __call__(self, decorated: Decorated, /) -> Decorated: ...


MAX_BODY_VALUES = 20_000
"""The most values in a body, twice as many as the largest sweep has. Checking them delays all other requests."""


LONGEST_SHOWN_NAME = 100
FORM_TYPE = "multipart/form-data"
ENDPOINTS_OF_DELETED_FILES = frozenset(
    {"api_jobs.Jobs", "api_jobs.RerunJobs", "api_jobs.FileList", "api_jobs.FileContent"}
)
"""The endpoints that answer 410 if a person has deleted the files."""
ENDPOINTS_OF_DATASET_FILES = frozenset({"api_datasets.DatasetFileList", "api_datasets.DatasetFileContent"})
"""The endpoints that read and yet answer 409: the dataset may not be ready."""


class StrictParser(FlaskParser):
    """Refuses unknown fields and parameters, and bodies with too much depth, or too many digits or values."""

    DEFAULT_UNKNOWN_BY_LOCATION: dict[str, str | None] = {"json": RAISE, "query": RAISE}

    def load_files(self, req: Request, schema: Schema) -> Any:
        """The fields of the form beside the files: an operation has one body."""
        if req.content_length and req.mimetype != FORM_TYPE:
            raise UnsupportedMediaType
        return self._makeproxy(CombinedMultiDict([req.form, req.files]), schema)

    def load_json(self, req: Request, schema: Schema) -> Any:
        body = req.get_data(cache=True)
        if body and not req.is_json:
            raise UnsupportedMediaType
        # A comma within a text counts as well, because no text here has so many.
        if body.count(b",") >= MAX_BODY_VALUES:
            raise Refused("", "body.too_many_values", most=MAX_BODY_VALUES)
        try:
            return super().load_json(req, schema)
        except (RecursionError, ValueError):
            raise BadRequest from None

    def _raw_load_json(self, req: Request) -> Any:
        """Refuses a body with two fields of one name, because the JSON parser would silently drop one of them."""
        return json.loads(req.get_data(cache=True).decode(), object_pairs_hook=unique_fields)


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a JSON object. Raises Refused for a name that occurs twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        shown = twice[:LONGEST_SHOWN_NAME]
        raise Refused(shown, "body.field_twice", name=shown)
    return fields


def refused_statuses(endpoint: str, rule: str, method: str, places: Collection[str]) -> Iterator[int]:
    """The statuses with which an operation may refuse, apart from that of a bug. `places` are the places of its
    arguments.
    """
    permission = ROUTE_RULES[endpoint]
    has_body = "json" in places or "files" in places
    if has_body:
        yield from (400, 413, 415)
    if permission is not RouteRule.ANYONE:
        yield 401
    if permission not in (RouteRule.ANYONE, RouteRule.NODE):
        yield 403
    if "<" in rule or places:
        yield 404
    if "<" in rule or places or method.upper() not in SAFE_METHODS:
        yield 422
    if endpoint in ARCHIVE_ENDPOINTS:
        yield 408
    if method.upper() not in SAFE_METHODS or endpoint in ENDPOINTS_OF_DATASET_FILES:
        yield 409
    if endpoint in ENDPOINTS_OF_DELETED_FILES:
        yield 410
    yield from (429, 503)


class ApiBlueprint(Blueprint):  # type: ignore[misc]
    """`api_jobs` answers under /api/v1/jobs."""

    ARGUMENTS_PARSER = StrictParser()

    def __init__(self, name: str, description: str) -> None:
        super().__init__(f"api_{name}", __name__, description=description)
        self.url_name = name
        self._prepare_doc_cbks.append(self.describe_refusals)

    def add_url_rule(
        self, rule: str, endpoint: str | None = None, view_func: Any = None, **options: Any
    ) -> None:
        """Adds the rule, and notes the statuses with which each of its operations may refuse."""
        super().add_url_rule(rule, endpoint, view_func, **options)
        name = self._endpoints[-1]
        for method, operation in self._docs[name].items():
            if method != "parameters":
                arguments = operation.get("arguments", {}).get("parameters", ())
                places = {each["in"] for each in arguments}
                operation["refused"] = [*refused_statuses(f"{self.name}.{name}", rule, method, places)]

    @staticmethod
    def describe_refusals(doc: dict[str, Any], operation: dict[str, Any], **_: Any) -> dict[str, Any]:
        for status in operation["refused"]:
            doc.setdefault("responses", {})[status] = HTTPStatus(status).name
        return doc

    def route(self, rule: str, **options: Any) -> TypedDecorator:
        decorate: TypedDecorator = super().route(rule, **options)
        return decorate

    def arguments(self, schema: type[Schema], location: str = "json") -> TypedDecorator:
        # This is an instance: with a class, every request would make a new one, with copies of all its fields.
        made = schema()
        # A body without required fields may be left out itself.
        is_needed = any(field.required for field in made.fields.values())
        decorate: TypedDecorator = super().arguments(made, location=location, required=is_needed)
        return decorate

    def alt_response(self, status: int, schema: type[Schema]) -> TypedDecorator:
        """Another good answer, with its schema."""
        decorate: TypedDecorator = super().alt_response(status, schema=schema, success=True)
        return decorate

    def response(self, status: int, schema: type[Schema] | None = None, **options: Any) -> TypedDecorator:
        decorate: TypedDecorator = super().response(status, schema, **options)
        return decorate


def describe_sentence(code: str | None, data: dict[str, Any] | None) -> dict[str, Any] | None:
    """A typed reason with its sentence in the caller's language; None for none."""
    if code is None:
        return None
    return {
        "code": code,
        "data": data or {},
        "sentence": sentence(code, data or {}, request_language()),
    }


def describe_named(row: Any) -> dict[str, Any] | None:
    return {"id": row.id, "name": row.name} if row is not None else None
