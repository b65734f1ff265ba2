"""Workspaces know when they had their last turn."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("workspaces", sa.Column("served_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("workspaces", sa.Column("served", sa.Integer(), server_default="0", nullable=False))
