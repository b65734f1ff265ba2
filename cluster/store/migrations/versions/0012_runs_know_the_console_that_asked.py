"""Runs know the console that asked."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("repair_runs", sa.Column("console_user", sa.String(length=64), nullable=True))
    op.add_column("repair_runs", sa.Column("record", sa.String(length=32), nullable=True))
    op.create_index("ix_repair_runs_record", "repair_runs", ["record"], unique=True)
