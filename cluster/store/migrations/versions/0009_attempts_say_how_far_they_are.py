"""Attempts say how far they are, and when they expect to end."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("attempts", sa.Column("progress", sa.Double(), nullable=True))
    for name in ("expected_end_at", "earliest_end_at", "latest_end_at"):
        op.add_column("attempts", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
