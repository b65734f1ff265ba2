"""Failures that a person has seen and dismissed; who tried an operation again, and when."""

import sqlalchemy as sa
from alembic import op

revision = "0104"
down_revision = "0103"

FAILED_UNSEEN = sa.text("state = 'failed' AND failure_dismissed_at IS NULL")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("failure_dismissed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("datasets", sa.Column("failure_dismissed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("operations", sa.Column("retried_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("operations", sa.Column("retried_by", sa.String(64), nullable=True))
    op.create_index(
        "ix_jobs_failed_unseen",
        "jobs",
        ["user_id", "ended_at"],
        sqlite_where=FAILED_UNSEEN,
        postgresql_where=FAILED_UNSEEN,
    )
