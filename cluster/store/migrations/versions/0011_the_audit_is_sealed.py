"""The audit is sealed."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0011"
down_revision = "0010"

# REPLACE deletes without a delete trigger on SQLite, therefore the third one.
TRIGGERS = {
    "sqlite": (
        """CREATE TRIGGER audit_seals_no_update BEFORE UPDATE ON audit_seals
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
        """CREATE TRIGGER audit_seals_no_delete BEFORE DELETE ON audit_seals
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
        """CREATE TRIGGER audit_seals_no_replace BEFORE INSERT ON audit_seals
WHEN EXISTS (SELECT 1 FROM audit_seals WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
    ),
    "postgresql": (
        """CREATE TRIGGER audit_seals_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()""",
    ),
}


def upgrade() -> None:
    op.create_table(
        "audit_seals",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_id", sa.Integer(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("lines", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("mac", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_seals")),
        sa.UniqueConstraint("last_id", name=op.f("uq_audit_seals_last_id")),
    )
    for statement in TRIGGERS[op.get_bind().dialect.name]:
        op.execute(statement)
