"""A SQL condition for names that begin with a text, which an index of the names answers on SQLite and PostgreSQL."""

from typing import Any

from sqlalchemy import ColumnElement, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import NullType

from cluster.domain.search import SearchQuery

BY_CHARACTER = {"name": "varchar_pattern_ops"}
"""The order of PostgreSQL's index of names: character by character, whatever the database's language."""


class name_between(FunctionElement[Any]):
    """The condition. Its parts are the column, the beginning, and the first text that sorts after all such names.

    It is not typed as a boolean: SQLAlchemy would compare it with 1 on SQLite, which then reads all of the index.
    """

    type = NullType()
    inherit_cache = True


def name_begins_with(column: InstrumentedAttribute[str], query: SearchQuery) -> ColumnElement[bool]:
    return name_between(column, literal(query.prefix), literal(query.prefix_end))


@compiles(name_between, "sqlite")
def on_sqlite(element: name_between, compiler: SQLCompiler, **options: Any) -> str:
    name, first, end = (compiler.process(each, **options) for each in element.clauses)
    return f"({name} >= {first} AND {name} < {end})"


@compiles(name_between, "postgresql")
def on_postgresql(element: name_between, compiler: SQLCompiler, **options: Any) -> str:
    name, first, end = (compiler.process(each, **options) for each in element.clauses)
    return f"({name} ~>=~ {first} AND {name} ~<~ {end})"
