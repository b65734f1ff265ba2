"""A SQL function that returns a time in seconds, on SQLite and PostgreSQL."""

from typing import Any

from sqlalchemy import Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class epoch_seconds(FunctionElement[float]):
    """Seconds since a fixed moment that differs between the databases; only differences are meaningful."""

    type = Float()
    inherit_cache = True


@compiles(epoch_seconds, "postgresql")
def on_postgresql(element: epoch_seconds, compiler: SQLCompiler, **options: Any) -> str:
    return f"EXTRACT(EPOCH FROM {compiler.process(element.clauses, **options)})"


@compiles(epoch_seconds, "sqlite")
def on_sqlite(element: epoch_seconds, compiler: SQLCompiler, **options: Any) -> str:
    """SQLite's days have a precision of about 40 microseconds."""
    return f"(JULIANDAY({compiler.process(element.clauses, **options)}) * 86400.0)"
