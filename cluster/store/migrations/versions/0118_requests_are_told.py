"""Managers may be told that somebody asks for an environment."""

from alembic import op

revision = "0118"
down_revision = "0117"

KINDS = ("job_ended", "job_failed", "job_waits", "term_ends", "notebook_idle", "environment_asked")


def upgrade() -> None:
    """SQLite has to copy the table."""
    name = op.f("ck_notification_events_notificationkind")
    with op.batch_alter_table("notification_events") as table:
        table.drop_constraint(name, type_="check")
        table.create_check_constraint(name, f"kind IN ({', '.join(repr(kind) for kind in KINDS)})")
