"""Statements are compiled once in a process of tests, not once for each of its thousands of small databases.

An engine keeps what it has compiled by its dialect, and each test has an engine of its own. Compiling was a
quarter of what the tests of pages cost.
"""

from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

COMPILED: dict[Any, Any] = {}


def compile_once() -> None:
    """For this process: dialects of one class count as one, and all engines share what they have compiled."""
    for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        dialect.__eq__ = is_same_class  # type: ignore[assignment,method-assign]
        dialect.__hash__ = hash_of_class  # type: ignore[assignment,method-assign]
    event.listen(Engine, "engine_connect", share)


def share(connection: Connection) -> None:
    connection.execution_options(compiled_cache=COMPILED)


def is_same_class(dialect: object, other: object) -> bool:
    return type(dialect) is type(other)


def hash_of_class(dialect: object) -> int:
    return hash(type(dialect))
