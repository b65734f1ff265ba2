"""Jobs keep what they measured; accounting finds a month by index."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    with op.batch_alter_table("jobs", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.add_column(
            sa.Column("results", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=True)
        )

    op.create_index("ix_allocations_ended_at_begun_at", "allocations", ["ended_at", "begun_at"])
    op.create_index("ix_attempts_ended_at", "attempts", ["ended_at"])
