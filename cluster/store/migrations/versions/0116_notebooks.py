"""Jobs may be notebooks, and trainings may be made for them."""

import sqlalchemy as sa
from alembic import op

revision = "0116"
down_revision = "0115"

TIME = sa.DateTime(timezone=True)
TRAINING_KINDS = "kind IN ('built_in', 'advanced', 'notebook')"
NOTIFICATION_KINDS = "kind IN ('job_ended', 'job_failed', 'job_waits', 'term_ends', 'notebook_idle')"
LIVE_NOTEBOOK = sa.text("kind = 'notebook' AND state IN ('waiting', 'starting', 'running', 'stopping')")


def upgrade() -> None:
    change_constraint("trainings", "trainingkind", TRAINING_KINDS, sqlite_autoincrement=True)
    change_constraint("notification_events", "notificationkind", NOTIFICATION_KINDS)
    op.add_column("jobs", sa.Column("kind", sa.String(20), server_default="program", nullable=False))
    op.create_index(
        "uq_jobs_live_notebook",
        "jobs",
        ["user_id", "training_id"],
        unique=True,
        sqlite_where=LIVE_NOTEBOOK,
        postgresql_where=LIVE_NOTEBOOK,
    )
    create_notebooks()
    create_entries()
    op.create_table(
        "working_copies",
        sa.Column("training_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("code_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["training_id"], ["trainings.id"], name=op.f("fk_working_copies_training_id_trainings")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_working_copies_user_id_users")),
        sa.PrimaryKeyConstraint("training_id", "user_id", name=op.f("pk_working_copies")),
    )


def change_constraint(table_name: str, name: str, condition: str, **options: bool) -> None:
    """SQLite has to copy the table for that."""
    with op.batch_alter_table(table_name, table_kwargs=options) as table:
        table.drop_constraint(op.f(f"ck_{table_name}_{name}"), type_="check")
        table.create_check_constraint(op.f(f"ck_{table_name}_{name}"), condition)


def create_notebooks() -> None:
    op.create_table(
        "notebooks",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(64), nullable=False),
        sa.Column("address", sa.String(200), nullable=True),
        sa.Column("ready_attempt", sa.Integer(), nullable=True),
        sa.Column("used_at", TIME, nullable=True),
        sa.Column("is_busy", sa.Boolean(), nullable=False),
        sa.Column("warned_at", TIME, nullable=True),
        sa.Column("stops_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_notebooks_job_id_jobs")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_notebooks")),
    )


def create_entries() -> None:
    op.create_table(
        "notebook_entries",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("session_hash", sa.String(64), nullable=False),
        sa.Column("ticket_hash", sa.String(64), nullable=True),
        sa.Column("ticket_expires_at", TIME, nullable=False),
        sa.Column("cookie_hash", sa.String(64), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_notebook_entries_job_id_jobs")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notebook_entries_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notebook_entries")),
        sa.UniqueConstraint("ticket_hash", name=op.f("uq_notebook_entries_ticket_hash")),
        sa.UniqueConstraint("cookie_hash", name=op.f("uq_notebook_entries_cookie_hash")),
    )
    op.create_index(op.f("ix_notebook_entries_job_id"), "notebook_entries", ["job_id"])
