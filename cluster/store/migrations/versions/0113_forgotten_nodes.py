"""A node that was removed is forgotten; its row stays for the history of its jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0113"
down_revision = "0110"


def upgrade() -> None:
    op.add_column("nodes", sa.Column("forgotten_at", sa.DateTime(timezone=True), nullable=True))
