"""Jobs have a headline metric, a note and tags; people save views of the list of jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0105"
down_revision = "0104"

SCORED = "headline_score IS NOT NULL"
ENDED = "ended_at IS NOT NULL"


def upgrade() -> None:
    """Jobs that ended before have no headline metric."""
    for column in (
        sa.Column("headline_metric", sa.String(100), nullable=True),
        sa.Column("headline_value", sa.Double(), nullable=True),
        sa.Column("headline_is_best", sa.Boolean(), nullable=True),
        sa.Column("headline_score", sa.Double(), nullable=True),
        sa.Column("note", sa.String(500), nullable=True),
    ):
        op.add_column("jobs", column)
    create_order("ix_jobs_score", ["headline_score", "id"], SCORED)
    create_order("ix_jobs_workspace_score", ["workspace_id", "headline_score", "id"], SCORED)
    create_order("ix_jobs_sweep_score", ["sweep_id", "headline_score", "id"], SCORED)
    create_order("ix_jobs_ended_at", ["ended_at", "id"], ENDED)
    create_order("ix_jobs_workspace_ended_at", ["workspace_id", "ended_at", "id"], ENDED)
    op.create_table(
        "job_tags",
        sa.Column("tag", sa.String(30), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_tags_job_id_jobs")),
        sa.PrimaryKeyConstraint("tag", "job_id", name=op.f("pk_job_tags")),
    )
    op.create_index(op.f("ix_job_tags_job_id"), "job_tags", ["job_id"])
    op.create_table(
        "saved_views",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("query", sa.String(500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_saved_views_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_views")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_saved_views_user_id_name")),
    )


def create_order(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "jobs", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
