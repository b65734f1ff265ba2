"""A dataset may be unpacked with Latin file names, and a failed one keeps its name from nobody."""

import sqlalchemy as sa
from alembic import op

revision = "0103"
down_revision = "0102"

INDEX = "uq_datasets_workspace_id_name"


def upgrade() -> None:
    """Names that were unique among all datasets are unique among those that have not failed."""
    op.add_column(
        "datasets", sa.Column("has_latin_names", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    names_in_use = sa.text("deleted_at IS NULL AND state <> 'failed'")
    op.drop_index(INDEX, "datasets")
    op.create_index(
        INDEX,
        "datasets",
        ["workspace_id", "name"],
        unique=True,
        sqlite_where=names_in_use,
        postgresql_where=names_in_use,
    )
