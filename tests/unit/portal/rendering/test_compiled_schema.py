"""A compiled schema writes what marshmallow writes, to the byte, for every answer that REST describes."""

import importlib
import json
import pkgutil
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum, StrEnum
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from marshmallow import Schema, fields, post_dump

from portal import api
from portal.api.jobs.jobs import Jobs
from portal.api.node_schemas import NodeList
from portal.api.schemas import JobAnswer, JobList, QueueAnswer, ResponseSchema
from portal.rendering.compiled_schema import CompiledSchema, NotCompiled, compile_schema


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


NONE = st.none()
TEXTS = st.one_of(st.text(), st.just(Colour.RED), st.just(Markup("<b>")), st.just("ä".encode()))
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=9))]))
VALUES: dict[type[Any], st.SearchStrategy[Any]] = {
    fields.String: TEXTS,
    fields.Integer: st.one_of(st.integers(), st.booleans(), st.just(Level.HIGH), st.just(2.5)),
    fields.Float: st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 9)),
    fields.Boolean: st.booleans(),
    fields.Raw: st.one_of(st.text(), st.integers()),
    fields.AwareDateTime: MOMENTS,
    fields.Date: st.dates(),
    fields.Dict: st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), NONE)),
}


def rows_of(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    """Rows with each field or without it, and with fields that the schema does not know.

    A field that is named as a method of dictionaries (`items`) is always there: marshmallow would write the method.
    """
    known = {name: st.one_of(NONE, values_of(field)) for name, field in schema.dump_fields.items()}
    always = {name: values for name, values in known.items() if hasattr(dict, name)}
    others = {name: values for name, values in known.items() if name not in always}
    return st.fixed_dictionaries(always, optional={**others, "unknown to the schema": st.integers()})


def values_of(field: Any) -> st.SearchStrategy[Any]:
    if isinstance(field, fields.List):
        return st.lists(st.one_of(NONE, values_of(field.inner)), max_size=2)
    if isinstance(field, fields.Nested):
        rows = rows_of(field.schema)
        return st.lists(rows, max_size=2) if field.many or field.schema.many else rows
    return VALUES[type(field)]


def answer_schemas() -> list[type[ResponseSchema]]:
    """Of all modules of REST."""
    for module in pkgutil.walk_packages(api.__path__, f"{api.__name__}."):
        importlib.import_module(module.name)
    found, left = [], [ResponseSchema]
    while left:
        below = left.pop().__subclasses__()
        found += below
        left += below
    return sorted(found, key=lambda schema: schema.__qualname__)


COMPILED = [schema for schema in answer_schemas() if schema().compiled is not None]


def test_the_long_lists_are_compiled() -> None:
    assert {JobAnswer, JobList, NodeList, QueueAnswer} <= set(COMPILED)
    assert Jobs.get._apidoc["response"]["responses"][200][0]["schema"].compiled is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", COMPILED, ids=lambda kind: kind.__name__)
@settings(max_examples=10)
@given(data=st.data())
def test_a_compiled_schema_writes_what_marshmallow_writes(
    kind: type[ResponseSchema], data: st.DataObject
) -> None:
    schema, row = kind(), data.draw(rows_of(kind()))
    assert as_bytes(schema.dump(row)) == as_bytes(by_marshmallow(schema, row))
    assert as_bytes(schema.dump([row], many=True)) == as_bytes([by_marshmallow(schema, row)])


def by_marshmallow(schema: Schema, row: dict[str, Any]) -> Any:
    """What the library writes, also below: the nested schemas of this one are compiled too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompiledSchema, "dump", Schema.dump)
        return schema.dump(row)


def as_bytes(answer: Any) -> bytes:
    return json.dumps(answer).encode()


def test_objects_are_written_by_marshmallow() -> None:
    row = SimpleNamespace(id=7, name="mnist", submitted_at=datetime(2026, 11, 23, tzinfo=UTC))
    written = {"id": 7, "name": "mnist", "submitted_at": "2026-11-23T00:00:00+00:00"}
    assert JobAnswer().dump(row) == written
    assert JobList().dump({"items": [row], "next_cursor": None}) == {"items": [written], "next_cursor": None}


class Shouting(ResponseSchema):
    name = fields.String()

    @post_dump
    def shout(self, answer: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {"name": answer["name"].upper()}


class Renamed(ResponseSchema):
    bytes = fields.Integer(attribute="size")


class Defaulted(ResponseSchema):
    size = fields.Integer(dump_default=3)


class Computed(ResponseSchema):
    size = fields.Method("size_of")

    def size_of(self, row: Any) -> int:
        return 4


@pytest.mark.parametrize(
    ("schema", "row", "written"),
    [
        (Shouting, {"name": "mnist"}, {"name": "MNIST"}),
        (Renamed, {"size": 3}, {"bytes": 3}),
        (Defaulted, {}, {"size": 3}),
        (Computed, {}, {"size": 4}),
    ],
)
def test_what_only_marshmallow_can_write_is_left_to_it(
    schema: type[ResponseSchema], row: dict[str, Any], written: dict[str, Any]
) -> None:
    with pytest.raises(NotCompiled):
        compile_schema(schema())
    assert schema().dump(row) == written
