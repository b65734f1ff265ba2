"""A template database with all rows of an installation: a server copies it faster than it could be filled again."""

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import Table

from cluster.store.tables import metadata
from tests.bench.full_size.database_file import digest_of_inputs, full_size_file
from tests.bench.full_size.sizes import FULL, InstallationSize
from tests.databases import TEMPLATE, PostgresqlServer

PIECE = 5_000
"""Rows that are read at a time."""


@contextmanager
def full_size_database(
    server: PostgresqlServer, size: InstallationSize = FULL, cache_dir: Path | None = None
) -> Iterator[str]:
    """The URL of a new database with these rows; the server keeps the template of it."""
    template = ensure_template(server, size, cache_dir)
    name = f"full_size_{uuid.uuid4().hex[:12]}"
    with server.connect("postgres") as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield server.url(name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def ensure_template(server: PostgresqlServer, size: InstallationSize, cache_dir: Path | None) -> str:
    """The template's name. One that was interrupted half-way has another name, and is made again."""
    name = f"template_{digest_of_inputs(size)}"
    with server.connect("postgres") as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            return name
        connection.execute(f"DROP DATABASE IF EXISTS {name}_unfinished WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}_unfinished TEMPLATE {TEMPLATE}")
        with full_size_file(size, cache_dir) as path, server.connect(f"{name}_unfinished") as filled:
            copy_rows(path, filled)
        connection.execute(f"ALTER DATABASE {name}_unfinished RENAME TO {name}")
    return name


def copy_rows(path: Path, target: psycopg.Connection) -> None:
    """Every row of the SQLite file, as text, into the same tables; then the statistics."""
    target.execute("SET session_replication_role = replica")  # Foreign keys hold in the file.
    target.execute("SET timezone = 'UTC'")
    target.execute("SET synchronous_commit = off")
    with closing(sqlite3.connect(path)) as source:
        for table in metadata.sorted_tables:
            copy_table(source, target, table)
    target.execute("VACUUM ANALYZE")


def copy_table(source: sqlite3.Connection, target: psycopg.Connection, table: Table) -> None:
    names = ", ".join(column.name for column in table.columns)
    found = source.execute(f"SELECT {names} FROM {table.name}")
    with target.cursor().copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
        while rows := found.fetchmany(PIECE):
            for row in rows:
                copy.write_row(row)
    key = table.autoincrement_column
    if key is not None:
        target.execute(
            f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key.name}'), max({key.name}))"
            f" FROM {table.name} HAVING max({key.name}) IS NOT NULL"
        )
