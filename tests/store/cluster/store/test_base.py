"""The migrated schema and the rows are one."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from cluster.store.base import UtcDateTime
from cluster.store.engine import Store
from cluster.store.tables import metadata
from tests.databases import PostgresqlServer
from tests.store.schema_description import describe_declared_schema, describe_schema


def test_the_migrated_schema_is_what_the_rows_say(
    store: Store, database_kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with store.engine.connect() as connection:
        migrated = describe_schema(connection)
    if database_kind == "sqlite":
        built = describe_declared_schema(f"sqlite:///{tmp_path}/declared.db")
    else:
        server: PostgresqlServer = request.getfixturevalue("postgresql")
        with server.empty() as url:
            built = describe_declared_schema(url)
    assert migrated == built


def test_alembic_sees_no_difference_either(store: Store) -> None:
    def same_kind(
        context: object, seen: object, column: object, seen_type: object, ours: object
    ) -> bool | None:
        return False if isinstance(ours, UtcDateTime) else None

    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": same_kind})
        assert compare_metadata(context, metadata) == []
