"""Alembic's entry, which runs on the connection of cluster.store.migrate and in its transaction."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import JSON

from cluster.store.base import UtcDateTime
from cluster.store.tables import metadata


def render_item(kind: str, item: object, autogenerate: Any) -> str | Literal[False]:
    """Writes our own column types as SQLAlchemy's, because a migration must not depend on code that changes."""
    if isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if isinstance(item, JSON):
        autogenerate.imports.add("from sqlalchemy.dialects.postgresql import JSONB")
        return 'sa.JSON().with_variant(JSONB(), "postgresql")'
    return False


connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_item=render_item,
    render_as_batch=connection.dialect.name == "sqlite",
    # SQLite's DDL is transactional too, because the driver leaves BEGIN to us.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
if connection.dialect.name == "sqlite":
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise RuntimeError(f"the migration left rows without their parents: {broken[:5]}")
