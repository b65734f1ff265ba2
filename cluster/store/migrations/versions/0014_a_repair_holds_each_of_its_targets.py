"""A repair holds each of its targets."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.drop_index("one_repair_per_target", "repair_runs")
    op.create_table(
        "repair_holds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(length=60), nullable=False),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["repair_runs.id"], name=op.f("fk_repair_holds_run_id_repair_runs")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repair_holds")),
    )
    op.create_index(op.f("ix_repair_holds_run_id"), "repair_holds", ["run_id"])
    op.create_index(
        "one_repair_per_target",
        "repair_holds",
        ["target"],
        unique=True,
        sqlite_where=sa.text("released_at IS NULL"),
        postgresql_where=sa.text("released_at IS NULL"),
    )
    op.execute(
        "INSERT INTO repair_holds (run_id, target) SELECT id, target FROM repair_runs WHERE ended_at IS NULL"
    )
    op.add_column(
        "repair_runs",
        sa.Column(
            "targets",
            sa.JSON().with_variant(JSONB(), "postgresql"),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
    )
    op.add_column(
        "repair_runs", sa.Column("is_look_ahead", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    with op.batch_alter_table("repair_runs") as batch_op:
        batch_op.drop_constraint(op.f("ck_repair_runs_verdict"), type_="check")
        batch_op.create_check_constraint(
            op.f("ck_repair_runs_verdict"),
            "verdict IN ('verified', 'not_verified', 'cancelled', 'broken', 'looked_ahead')",
        )
