"""Moments as seconds inside a query, the same on both databases."""

from typing import Any

from sqlalchemy import Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class seconds_of(FunctionElement[float]):
    """Seconds since some fixed moment: only differences mean anything."""

    type = Float()
    inherit_cache = True


@compiles(seconds_of, "postgresql")
def on_postgresql(element: seconds_of, compiler: SQLCompiler, **options: Any) -> str:
    return f"EXTRACT(EPOCH FROM {compiler.process(element.clauses, **options)})"


@compiles(seconds_of, "sqlite")
def on_sqlite(element: seconds_of, compiler: SQLCompiler, **options: Any) -> str:
    """Days with a fraction of about 40 microseconds."""
    return f"(JULIANDAY({compiler.process(element.clauses, **options)}) * 86400.0)"
