"""Numbers of datasets, trainings and operations name folders and logs: SQLite gives none of them out a second time."""

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """On PostgreSQL a sequence does so already."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for table in ("datasets", "trainings", "operations"):
        with op.batch_alter_table(table, recreate="always", table_kwargs={"sqlite_autoincrement": True}):
            pass
