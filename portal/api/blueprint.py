"""The base of every REST blueprint: strict parsing of bodies and queries, and coded sentences in answers."""

from typing import Any, Protocol, TypeVar

from flask import Request
from flask_smorest import Blueprint
from marshmallow import RAISE, Schema
from webargs.flaskparser import FlaskParser
from werkzeug.datastructures import CombinedMultiDict
from werkzeug.exceptions import BadRequest

from cluster import words
from cluster.domain.errors import Refused
from portal.i18n.translate import request_language

Decorated = TypeVar("Decorated")


class TypedDecorator(Protocol):
    """A decorator after which the function has the type that it had before."""

    def __call__(self, decorated: Decorated, /) -> Decorated: ...


MAX_BODY_VALUES = 20_000
"""Twice what the largest sweep names; each is checked by itself, which delays all other requests."""


class StrictParser(FlaskParser):
    """Refuses fields and parameters that nobody knows, and bodies with more depth, digits or values than are meant."""

    DEFAULT_UNKNOWN_BY_LOCATION: dict[str, str | None] = {"json": RAISE, "query": RAISE}

    def load_files(self, req: Request, schema: Schema) -> Any:
        """The fields of the form beside the files: an operation has one body."""
        return self._makeproxy(CombinedMultiDict([req.form, req.files]), schema)

    def load_json(self, req: Request, schema: Schema) -> Any:
        # A comma within a text counts as well: no text here is so long.
        if req.get_data(cache=True).count(b",") >= MAX_BODY_VALUES:
            raise Refused("", "body.too_many_values", most=MAX_BODY_VALUES)
        try:
            return super().load_json(req, schema)
        except (RecursionError, ValueError):
            raise BadRequest from None


class ApiBlueprint(Blueprint):  # type: ignore[misc]
    """`api_jobs` answers under /api/v1/jobs."""

    ARGUMENTS_PARSER = StrictParser()

    def __init__(self, name: str, description: str) -> None:
        super().__init__(f"api_{name}", __name__, description=description)
        self.url_name = name

    def route(self, rule: str, **options: Any) -> TypedDecorator:
        decorate: TypedDecorator = super().route(rule, **options)
        return decorate

    def arguments(self, schema: type[Schema], location: str = "json") -> TypedDecorator:
        # An instance: from a class every request would make a new one, with copies of all its fields.
        decorate: TypedDecorator = super().arguments(schema(), location=location)
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
        "sentence": words.sentence(code, data or {}, request_language()),
    }


def describe_named(row: Any) -> dict[str, Any] | None:
    return {"id": row.id, "name": row.name} if row is not None else None
