"""Backups have a queue of their own."""

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    with op.batch_alter_table("operations") as batch_op:
        batch_op.drop_constraint(op.f("ck_operations_queue"), type_="check")
        batch_op.create_check_constraint(
            op.f("ck_operations_queue"), "queue IN ('general', 'images', 'repair', 'backups')"
        )
    op.execute("UPDATE operations SET queue = 'backups' WHERE kind = 'backup'")
