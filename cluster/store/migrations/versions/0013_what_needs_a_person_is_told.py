"""What needs a person is told."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "occurrences",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=120), nullable=False),
        sa.Column("concern", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_occurrences")),
    )
    op.create_index("ix_occurrences_by_key", "occurrences", ["key", "told_at"], unique=False)
    op.create_index(op.f("ix_occurrences_ended_at"), "occurrences", ["ended_at"], unique=False)
    op.create_index(
        "one_occurrence_per_key",
        "occurrences",
        ["key"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )

    op.create_table(
        "notices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("occurrence_id", sa.Integer(), nullable=False),
        sa.Column(
            "channel",
            sa.Enum(
                "mail", "webhook", name="noticechannel", native_enum=False, create_constraint=True, length=20
            ),
            nullable=False,
        ),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column(
            "state",
            sa.Enum(
                "waiting",
                "sent",
                "given_up",
                name="noticestate",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(length=300), nullable=False),
        sa.ForeignKeyConstraint(
            ["occurrence_id"], ["occurrences.id"], name=op.f("fk_notices_occurrence_id_occurrences")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notices_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
    )
    op.create_index(op.f("ix_notices_occurrence_id"), "notices", ["occurrence_id"], unique=False)
    op.create_index(
        "ix_notices_waiting",
        "notices",
        ["next_at"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )

    op.add_column("users", sa.Column("email", sa.String(length=254), nullable=True))
