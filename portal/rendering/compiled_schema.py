"""Makes a plain function of a marshmallow schema: it writes the same answer as the schema in a fraction of the time.

marshmallow asks for each field of each row by four calls. A list of fifty jobs has two thousand fields, and most of
them are texts and numbers that are written as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from marshmallow import Schema, fields, missing

Write = Callable[[Any], Any]
Part = tuple[str, type[Any], Write]
"""The name of a field, the type whose values are written as they are, and the function that writes values of other
types. None is written as None.
"""
ISO = (None, "iso")
"""The formats of moments and dates that the compiled function writes."""


class NotCompiled(Exception):
    """The schema or a value is of a kind that only marshmallow can write."""


class CompiledSchema(Schema):
    """A schema whose dictionaries are written by the function made of it, and everything else by marshmallow."""

    def dump(self, obj: Any, *, many: bool | None = None) -> Any:
        if self.compiled is not None:
            try:
                is_list = self.many if many is None else many
                return list(map(self.compiled, obj)) if is_list else self.compiled(obj)
            except NotCompiled:
                pass
        return super().dump(obj, many=many)

    @cached_property
    def compiled(self) -> Write | None:
        """The compiled function; None if only marshmallow itself can write this schema."""
        try:
            return compile_schema(self)
        except NotCompiled:
            return None


def compile_schema(schema: Schema) -> Write:
    """A function that returns for a dictionary what `schema.dump` returns. Raises NotCompiled.

    The function raises NotCompiled for everything that is no dictionary.
    """
    if any(schema._hooks.values()) or type(schema).get_attribute is not Schema.get_attribute:
        raise NotCompiled(type(schema).__name__)
    parts = [compile_field(name, field) for name, field in schema.dump_fields.items()]

    def write(row: Any) -> dict[str, Any]:
        if type(row) is not dict:
            raise NotCompiled(type(row).__name__)
        answer = {}
        for name, plain, convert in parts:
            if name in row:
                value = row[name]
                answer[name] = value if value is None or type(value) is plain else convert(value)
        return answer

    return write


def compile_field(name: str, field: Any) -> Part:
    """Raises NotCompiled if the field has options that change what is written, or is of a kind not named here."""
    kind = type(field)
    if field.attribute is not None or field.data_key is not None or field.dump_default is not missing:
        raise NotCompiled(name)
    if kind is fields.List:
        return name, type(None), write_each(compile_field(name, field.inner))
    if kind is fields.Nested:
        write = compile_schema(field.schema)
        is_list = field.many or field.schema.many
        return name, type(None), write_each((name, type(None), write)) if is_list else write
    if kind is fields.String:
        return name, str, write_text
    if kind in (fields.Integer, fields.Float) and not field.as_string:
        return name, field.num_type, field.num_type
    if kind is fields.Dict and field.key_field is None and field.value_field is None:
        return name, dict, dict
    if kind in (fields.AwareDateTime, fields.Date) and field.format in ISO:
        return name, type(None), write_moment
    if kind in (fields.Boolean, fields.Raw):
        return name, bool, write_as_it_is
    raise NotCompiled(name)


def write_each(part: Part) -> Write:
    _, plain, convert = part

    def write(values: Any) -> list[Any]:
        return [value if value is None or type(value) is plain else convert(value) for value in values]

    return write


def write_text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def write_moment(value: Any) -> str:
    text: str = value.isoformat()
    return text


def write_as_it_is(value: Any) -> Any:
    return value
