"""The time zone in which a person wants to read times, and indexes of names for the search."""

import sqlalchemy as sa
from alembic import op

revision = "0107"
down_revision = "0106"

BY_CHARACTER = {"name": "varchar_pattern_ops"}


def upgrade() -> None:
    op.add_column("users", sa.Column("time_zone", sa.String(64), nullable=True))
    op.create_index("ix_jobs_name", "jobs", ["name", "id"], postgresql_ops=BY_CHARACTER)
    op.create_index("ix_trainings_name", "trainings", ["name"], postgresql_ops=BY_CHARACTER)
    op.create_index("ix_datasets_name", "datasets", ["name"], postgresql_ops=BY_CHARACTER)
