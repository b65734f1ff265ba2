"""Why jobs wait and when they are expected to start, as the scheduler last said it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0102"
down_revision = "0101"


def upgrade() -> None:
    """The table begins empty: the scheduler's first pass fills it."""
    op.create_table(
        "queue_explanations",
        sa.Column("job_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(60), nullable=False),
        sa.Column("data", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_queue_explanations_job_id_jobs")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_queue_explanations")),
    )
