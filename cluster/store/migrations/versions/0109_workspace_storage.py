"""A workspace has a limit of storage and what it was last measured to use."""

import sqlalchemy as sa
from alembic import op

revision = "0109"
down_revision = "0108"


def upgrade() -> None:
    op.add_column("workspaces", sa.Column("storage_limit_bytes", sa.BigInteger(), nullable=True))
    op.add_column("workspaces", sa.Column("storage_used_bytes", sa.BigInteger(), nullable=True))
    op.add_column("workspaces", sa.Column("storage_measured_at", sa.DateTime(timezone=True), nullable=True))
