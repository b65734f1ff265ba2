"""Files of jobs can be deleted, their sizes are known, and an attempt keeps why the scheduler ends it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0018"
down_revision = "0017"

UNWANTED = sa.text("files_unwanted_at IS NOT NULL AND files_deleted_at IS NULL")
STORED = sa.text("storage_bytes > 0 AND files_deleted_at IS NULL")


def upgrade() -> None:
    op.add_column("attempts", sa.Column("storage_bytes", sa.BigInteger(), nullable=True))
    op.add_column("attempts", sa.Column("cause_code", sa.String(length=60), nullable=True))
    op.add_column(
        "attempts", sa.Column("cause_data", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=True)
    )
    op.add_column("jobs", sa.Column("storage_bytes", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("files_unwanted_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("jobs", sa.Column("files_unwanted_by", sa.String(length=64), nullable=True))
    op.add_column("jobs", sa.Column("files_deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_jobs_files_unwanted", "jobs", ["id"], sqlite_where=UNWANTED, postgresql_where=UNWANTED
    )
    op.create_index(
        "ix_jobs_storage", "jobs", ["storage_bytes"], sqlite_where=STORED, postgresql_where=STORED
    )
