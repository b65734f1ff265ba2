"""An index finds what uses an environment."""

import sqlalchemy as sa
from alembic import op

revision = "0115"
down_revision = "0114"

LIVE_WITH_CHOICE = sa.text(
    "environment_id IS NOT NULL AND state IN ('waiting', 'starting', 'running', 'stopping')"
)


def upgrade() -> None:
    op.create_index(
        "ix_jobs_environment",
        "jobs",
        ["environment_id", "id"],
        sqlite_where=LIVE_WITH_CHOICE,
        postgresql_where=LIVE_WITH_CHOICE,
    )
