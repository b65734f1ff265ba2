"""Jobs may ask for less or more memory than their units' share."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("memory_bytes", sa.BigInteger(), nullable=True))
