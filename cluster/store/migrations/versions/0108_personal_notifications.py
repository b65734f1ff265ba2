"""People choose what they are told of; the outbox holds their messages beside those about alerts."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0108"
down_revision = "0107"

TIME = sa.DateTime(timezone=True)
JSON = sa.JSON().with_variant(JSONB(), "postgresql")
CHANNEL = "channel IN ('mail', 'webhook', 'personal_webhook')"
IS_ABOUT_SOMETHING = "occurrence_id IS NOT NULL OR content IS NOT NULL"


def upgrade() -> None:
    create_choices()
    create_events()
    if op.get_bind().dialect.name == "sqlite":
        replace_outbox()
    else:
        alter_outbox()
    create_partial_index(
        "ix_notifications_personal", "notifications", ["user_id", "made_at"], "content IS NOT NULL"
    )


def create_choices() -> None:
    op.create_table(
        "notification_choices",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("kinds", JSON, nullable=False),
        sa.Column("wait_hours", sa.Integer(), nullable=False),
        sa.Column("webhook_url", sa.String(500), nullable=False),
        sa.Column("webhook_secret", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_notification_choices_user_id_users")
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_notification_choices")),
    )


def create_events() -> None:
    kinds = ("job_ended", "job_failed", "job_waits", "term_ends")
    op.create_table(
        "notification_events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(80), nullable=False),
        sa.Column("kind", enum("notificationkind", *kinds), nullable=False),
        sa.Column("sweep_id", sa.Integer(), nullable=True),
        sa.Column("data", JSON, nullable=False),
        sa.Column("happened_at", TIME, nullable=False),
        sa.Column("held_at", TIME, nullable=True),
        sa.Column("planned_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweeps.id"], name=op.f("fk_notification_events_sweep_id_sweeps")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notification_events_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification_events")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_notification_events_user_id_key")),
    )
    op.create_index(op.f("ix_notification_events_planned_at"), "notification_events", ["planned_at"])
    create_partial_index(
        "ix_notification_events_unplanned", "notification_events", ["user_id", "id"], "planned_at IS NULL"
    )


def replace_outbox() -> None:
    """SQLite changes no constraint of a table that is there."""
    op.rename_table("notifications", "notifications_before")
    op.drop_index("ix_notifications_occurrence_id")
    op.drop_index("ix_notifications_waiting")
    op.create_table(
        "notifications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("occurrence_id", sa.Integer(), nullable=True),
        sa.Column("content", JSON, nullable=True),
        sa.Column(
            "channel", enum("notificationchannel", "mail", "webhook", "personal_webhook"), nullable=False
        ),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("state", enum("notificationstate", "waiting", "sent", "given_up"), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sent_at", TIME, nullable=True),
        sa.Column("error", sa.String(300), nullable=False),
        sa.Column("is_recipient_refused", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.CheckConstraint(IS_ABOUT_SOMETHING, name=op.f("ck_notifications_is_about_something")),
        sa.ForeignKeyConstraint(
            ["occurrence_id"],
            ["alert_occurrences.id"],
            name=op.f("fk_notifications_occurrence_id_alert_occurrences"),
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notifications_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
    )
    columns = "id, occurrence_id, channel, user_id, state, made_at, next_at, tries, sent_at, error"
    op.execute(f"INSERT INTO notifications ({columns}) SELECT {columns} FROM notifications_before")
    op.drop_table("notifications_before")
    op.create_index(op.f("ix_notifications_occurrence_id"), "notifications", ["occurrence_id"])
    create_partial_index("ix_notifications_waiting", "notifications", ["next_at"], "state = 'waiting'")


def alter_outbox() -> None:
    op.alter_column("notifications", "occurrence_id", nullable=True)
    op.add_column("notifications", sa.Column("content", JSON, nullable=True))
    op.add_column(
        "notifications",
        sa.Column("is_recipient_refused", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.drop_constraint(op.f("ck_notifications_notificationchannel"), "notifications", type_="check")
    op.create_check_constraint(op.f("ck_notifications_notificationchannel"), "notifications", CHANNEL)
    op.create_check_constraint(
        op.f("ck_notifications_is_about_something"), "notifications", IS_ABOUT_SOMETHING
    )


def create_partial_index(name: str, table: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def enum(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=20)
