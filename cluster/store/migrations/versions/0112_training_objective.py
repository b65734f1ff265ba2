"""The metric that a training's jobs are compared by, unless their program names another one."""

import sqlalchemy as sa
from alembic import op

revision = "0112"
down_revision = "0111"


def upgrade() -> None:
    op.add_column("trainings", sa.Column("objective_metric", sa.String(100), nullable=True))
    op.add_column("trainings", sa.Column("objective_is_lower_better", sa.Boolean(), nullable=True))
