"""The queue knows sweeps, holds, moves, retries and checkpoints; nodes can be drained and lost."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "sweeps",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("training_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("plan", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("most_at_once", sa.Integer(), nullable=True),
        sa.Column("stop_on_trouble", sa.Boolean(), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stop_code", sa.String(length=60), nullable=True),
        sa.Column("stop_data", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=True),
        sa.CheckConstraint("jobs > 0", name=op.f("ck_sweeps_jobs_positive")),
        sa.CheckConstraint(
            "most_at_once IS NULL OR most_at_once > 0", name=op.f("ck_sweeps_most_at_once_positive")
        ),
        sa.ForeignKeyConstraint(
            ["training_id"], ["trainings.id"], name=op.f("fk_sweeps_training_id_trainings")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sweeps_user_id_users")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_sweeps_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweeps")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("sweeps") as batch_op:
        batch_op.create_index(op.f("ix_sweeps_training_id"), ["training_id"], unique=False)
        batch_op.create_index(op.f("ix_sweeps_workspace_id"), ["workspace_id"], unique=False)

    with op.batch_alter_table("attempts") as batch_op:
        batch_op.add_column(sa.Column("resumed_from", sa.String(length=200), nullable=True))
        batch_op.add_column(sa.Column("cpu_seconds", sa.Double(), nullable=True))
        batch_op.add_column(sa.Column("max_memory_bytes", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("average_memory_bytes", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("unit_seconds_used", sa.Double(), nullable=True))

    with op.batch_alter_table("jobs", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.add_column(sa.Column("sweep_id", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("sweep_number", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("position", sa.BigInteger(), server_default="0", nullable=False))
        batch_op.add_column(sa.Column("held_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("held_by", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("grace_seconds", sa.Integer(), server_default="30", nullable=False))
        batch_op.add_column(sa.Column("retries", sa.Integer(), server_default="0", nullable=False))
        batch_op.add_column(sa.Column("retries_used", sa.Integer(), server_default="0", nullable=False))
        batch_op.add_column(sa.Column("resume_from", sa.String(length=200), nullable=True))
        batch_op.add_column(sa.Column("average_memory_bytes", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("unit_seconds_used", sa.Double(), nullable=True))
        batch_op.create_check_constraint("retries_not_negative", "retries >= 0 AND retries_used >= 0")
        batch_op.create_index("ix_jobs_sweep", ["sweep_id", "state", "id"], unique=False)
        batch_op.create_foreign_key(op.f("fk_jobs_sweep_id_sweeps"), "sweeps", ["sweep_id"], ["id"])
        batch_op.create_foreign_key(op.f("fk_jobs_held_by_users"), "users", ["held_by"], ["id"])

    op.execute("UPDATE jobs SET position = CAST(id AS BIGINT) * 1048576")

    with op.batch_alter_table("nodes") as batch_op:
        batch_op.add_column(sa.Column("fabric", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("simulated", sa.Boolean(), server_default=sa.false(), nullable=False))
        batch_op.add_column(sa.Column("draining_since", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("drained_by", sa.Integer(), nullable=True))
        batch_op.add_column(
            sa.Column("drain_reason", sa.String(length=200), server_default="", nullable=False)
        )
        batch_op.add_column(sa.Column("lost_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.create_foreign_key(op.f("fk_nodes_drained_by_users"), "users", ["drained_by"], ["id"])

    with op.batch_alter_table("units") as batch_op:
        batch_op.add_column(sa.Column("island", sa.String(length=64), nullable=True))
