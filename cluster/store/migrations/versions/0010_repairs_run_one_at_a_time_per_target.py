"""Repairs run one at a time per target."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    with op.batch_alter_table("operations") as batch_op:
        batch_op.drop_constraint(op.f("ck_operations_queue"), type_="check")
        batch_op.create_check_constraint(
            op.f("ck_operations_queue"), "queue IN ('general', 'images', 'repair')"
        )
    op.create_table(
        "repair_runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("target", sa.String(length=60), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.Column("asked_by", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_forced", sa.Boolean(), nullable=False),
        sa.Column("tasks", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("before", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("checks", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("listed", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column(
            "verdict",
            sa.Enum(
                "verified",
                "not_verified",
                "cancelled",
                "broken",
                name="verdict",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=True,
        ),
        sa.Column("playbook_rc", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["asked_by"], ["users.id"], name=op.f("fk_repair_runs_asked_by_users")),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["operations.id"], name=op.f("fk_repair_runs_operation_id_operations")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repair_runs")),
    )
    with op.batch_alter_table("repair_runs", schema=None) as batch_op:
        batch_op.create_index("ix_repair_runs_by_name", ["name", "id"], unique=False)
        batch_op.create_index(
            "one_repair_per_target",
            ["target"],
            unique=True,
            sqlite_where=sa.text("ended_at IS NULL"),
            postgresql_where=sa.text("ended_at IS NULL"),
        )
