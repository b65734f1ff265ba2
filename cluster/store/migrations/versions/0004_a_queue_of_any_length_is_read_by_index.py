"""A queue of any length is read by index alone."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

LIVING = "state IN ('waiting', 'starting', 'running', 'stopping')"
QUEUED = "state = 'waiting'"
IN_LINE = "state = 'waiting' AND held_at IS NULL"
HELD = "state = 'waiting' AND held_at IS NOT NULL"
INDICES = {
    "ix_jobs_living": (["state", "id"], LIVING),
    "ix_jobs_line": (["workspace_id", "position", "id"], IN_LINE),
    "ix_jobs_shapes": (["workspace_id", "shape", "position", "id"], IN_LINE),
    "ix_jobs_queued": (["position", "id"], QUEUED),
    "ix_jobs_queued_user": (["user_id", "position", "id"], QUEUED),
    "ix_jobs_held": (["workspace_id", "position", "id"], HELD),
    "ix_jobs_reasons": (["waiting_code", "id"], "waiting_code IS NOT NULL"),
    "ix_jobs_finished": (["training_id", "units", "id"], "state = 'finished'"),
    "ix_jobs_user_id_id": (["user_id", "id"], None),
}


def upgrade() -> None:
    op.create_table(
        "queue_totals",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("shape", sa.String(length=40), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("counted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_queue_totals_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "shape", name=op.f("pk_queue_totals")),
    )
    op.add_column("jobs", sa.Column("shape", sa.String(length=40), server_default="", nullable=False))
    # Higher priorities stand first by their position alone.
    op.execute(
        "UPDATE jobs SET position = CAST(id AS BIGINT) * 1048576 - CAST(priority AS BIGINT) * 4503599627370496"
    )
    op.drop_index("ix_jobs_living", "jobs")
    for name, (columns, condition) in INDICES.items():
        where = sa.text(condition) if condition else None
        op.create_index(name, "jobs", columns, sqlite_where=where, postgresql_where=where)
