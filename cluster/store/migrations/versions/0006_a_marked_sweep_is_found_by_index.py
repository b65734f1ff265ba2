"""A sweep that is to be stopped is found by index."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("sweeps", sa.Column("stopping", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(
        "ix_sweeps_stopping",
        "sweeps",
        ["id"],
        sqlite_where=sa.text("stopping"),
        postgresql_where=sa.text("stopping"),
    )
