"""A node that was removed is forgotten; its row stays for the history of its jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0110"
down_revision = "0109"


def upgrade() -> None:
    op.add_column("nodes", sa.Column("forgotten_at", sa.DateTime(timezone=True), nullable=True))
