"""Environments may begin as copies of others, and wait for an approval."""

import sqlalchemy as sa
from alembic import op

revision = "0117"
down_revision = "0116"

EMPTY_BY_DEFAULT = {"description": 500, "reference": 500, "python": 40, "gpu_support": 10}
"""Columns and their lengths. A copy of the table in SQLite would have their default in parentheses."""
STATES = "state IN ('unapproved', 'missing', 'building', 'ready', 'failed')"


def upgrade() -> None:
    """SQLite has to copy the table."""
    with op.batch_alter_table("environments") as table:
        table.add_column(sa.Column("base_id", sa.Integer(), nullable=True))
        table.create_foreign_key(
            op.f("fk_environments_base_id_environments"), "environments", ["base_id"], ["id"]
        )
        for name, length in EMPTY_BY_DEFAULT.items():
            table.alter_column(name, existing_type=sa.String(length), server_default="")
        table.drop_constraint(op.f("ck_environments_environmentstate"), type_="check")
        table.create_check_constraint(op.f("ck_environments_environmentstate"), STATES)
