"""Nodes know when they were started anew."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("nodes", sa.Column("booted_at", sa.DateTime(timezone=True), nullable=True))
