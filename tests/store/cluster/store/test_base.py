"""The migrated schema and the rows are one."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine, text

from cluster.store.base import UtcDateTime
from cluster.store.engine import Store
from cluster.store.tables import metadata
from tests.databases import PostgresqlServer

POSTGRESQL_SCHEMA = {
    "columns": """SELECT table_name, column_name, data_type, character_maximum_length, is_nullable
        FROM information_schema.columns WHERE table_schema = 'public'""",
    "constraints": """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace""",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "triggers": """SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal""",
    "functions": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
}


def describe(connection: Connection) -> set[tuple[str, ...]]:
    """Everything that the database holds its rows to, one tuple each."""
    if connection.dialect.name == "postgresql":
        found = [
            (kind, *map(str, line))
            for kind, query in POSTGRESQL_SCHEMA.items()
            for line in connection.execute(text(query))
        ]
        return {line for line in found if line[1] != "alembic_version"}
    lines = connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    parts: set[tuple[str, ...]] = set()
    for kind, name, sql in lines:
        if name == "alembic_version":
            continue
        # Columns and constraints of a table stand in any order: each counts by itself.
        clauses = clauses_of(sql) if kind == "table" else [sql]
        parts |= {(kind, name, " ".join(clause.split())) for clause in clauses}
    return parts


def clauses_of(sql: str) -> list[str]:
    """The columns and constraints between a table's outer brackets, whoever broke its lines."""
    clauses, depth = [""], 0
    for character in sql[sql.index("(") + 1 : sql.rindex(")")]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            clauses.append("")
        else:
            clauses[-1] += character
    return clauses


def test_the_migrated_schema_is_what_the_rows_say(
    store: Store, database_kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with store.engine.connect() as connection:
        migrated = describe(connection)
    if database_kind == "sqlite":
        built = declared_schema(f"sqlite:///{tmp_path}/declared.db")
    else:
        server: PostgresqlServer = request.getfixturevalue("postgresql")
        with server.empty() as url:
            built = declared_schema(url)
    assert migrated == built


def declared_schema(url: str) -> set[tuple[str, ...]]:
    engine = create_engine(url)
    with engine.begin() as connection:
        metadata.create_all(connection)
        schema = describe(connection)
    engine.dispose()
    return schema


def test_alembic_sees_no_difference_either(store: Store) -> None:
    def same_kind(
        context: object, seen: object, column: object, seen_type: object, ours: object
    ) -> bool | None:
        return False if isinstance(ours, UtcDateTime) else None

    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": same_kind})
        assert compare_metadata(context, metadata) == []
