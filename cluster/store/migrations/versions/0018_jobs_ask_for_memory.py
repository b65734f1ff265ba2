"""Jobs may ask for less or more memory than their units' share."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"


def upgrade() -> None:
    with op.batch_alter_table("jobs", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.add_column(sa.Column("memory_bytes", sa.BigInteger(), nullable=True))
        batch_op.create_check_constraint("memory_positive", "memory_bytes IS NULL OR memory_bytes > 0")
