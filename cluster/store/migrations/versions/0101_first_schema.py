"""The first schema."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0101"
down_revision = None

TIME = sa.DateTime(timezone=True)
JSON = sa.JSON().with_variant(JSONB(), "postgresql")

AUDIT_FUNCTION = """CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'audit entries are append-only'; END $$"""
AUDIT_TRIGGERS = {
    # On SQLite, REPLACE deletes rows without a delete trigger, so there is a third trigger.
    "sqlite": (
        """CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table}
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
        """CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
        """CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table}
WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
    ),
    "postgresql": (
        """CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()""",
    ),
}


def upgrade() -> None:
    """Creates each table after those to which it refers. Ids of tables with `sqlite_autoincrement` are never given
    out twice.
    """
    create_users()
    create_sign_ins()
    create_rest_access()
    create_audit()
    create_nodes()
    create_workspaces()
    create_operations()
    create_datasets()
    create_trainings()
    create_sweeps()
    create_jobs()
    create_attempts()
    create_job_events()
    create_queue_totals()
    create_repair_runs()
    create_alerts()
    create_installation_facts()


def enum(name: str, *values: str) -> sa.Enum:
    """A text column whose values a check constraint of this name restricts."""
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=20)


def create_partial_index(
    name: str, table: str, columns: Sequence[str], condition: str, unique: bool = False
) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)


def keep_audit_append_only() -> None:
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute(AUDIT_FUNCTION)
    for table in ("audit_entries", "audit_seals"):
        for statement in AUDIT_TRIGGERS[dialect]:
            op.execute(statement.format(table=table))


def create_users() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(20), nullable=False),
        sa.Column("full_name", sa.String(100), nullable=False),
        sa.Column("role", enum("userrole", "administrator", "user"), nullable=False),
        sa.Column("state", enum("userstate", "active", "disabled", "service"), nullable=False),
        sa.Column("password_hash", sa.String(200), nullable=True),
        sa.Column("language", sa.String(2), nullable=True),
        sa.Column("theme", sa.String(5), nullable=True),
        sa.Column("email", sa.String(254), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("password_changed_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
        sqlite_autoincrement=True,
    )


def create_sign_ins() -> None:
    op.create_table(
        "sign_in_sessions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("browser", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sign_in_sessions_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sign_in_sessions_token_hash")),
    )
    op.create_index(op.f("ix_sign_in_sessions_user_id"), "sign_in_sessions", ["user_id"])
    op.create_table(
        "one_time_secrets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(30), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_one_time_secrets_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_secrets")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_one_time_secrets_secret_hash")),
    )
    op.create_table(
        "failed_sign_ins",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_failed_sign_ins")),
    )
    op.create_index(op.f("ix_failed_sign_ins_address_at"), "failed_sign_ins", ["address", "at"])
    op.create_index(op.f("ix_failed_sign_ins_name_at"), "failed_sign_ins", ["name", "at"])


def create_rest_access() -> None:
    """Creates API tokens, and the stored answers to repeated requests."""
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("scopes", JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME, nullable=True),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_tokens_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
    )
    op.create_index(op.f("ix_api_tokens_user_id"), "api_tokens", ["user_id"])
    op.create_table(
        "idempotent_answers",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(100), nullable=False),
        sa.Column("body_hash", sa.String(64), nullable=False),
        sa.Column("object_id", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_idempotent_answers_user_id_users")),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_idempotent_answers")),
    )


def create_audit() -> None:
    """Creates the audit, which triggers keep append-only."""
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("actor_id", sa.Integer(), nullable=True),
        sa.Column("actor_name", sa.String(64), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("request_id", sa.String(64), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("object_kind", sa.String(30), nullable=False),
        sa.Column("object_id", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    op.create_index(op.f("ix_audit_entries_actor_name_id"), "audit_entries", ["actor_name", "id"])
    op.create_index(op.f("ix_audit_entries_at"), "audit_entries", ["at"])
    create_partial_index("ix_audit_entries_not_done", "audit_entries", ["outcome", "id"], "outcome <> 'done'")
    op.create_index(op.f("ix_audit_entries_object_kind_id"), "audit_entries", ["object_kind", "id"])
    op.create_table(
        "audit_seals",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("last_id", sa.Integer(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("digests", JSON, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("mac", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_seals")),
        sa.UniqueConstraint("last_id", name=op.f("uq_audit_seals_last_id")),
    )
    keep_audit_append_only()


def create_nodes() -> None:
    op.create_table(
        "nodes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("boot_id", sa.String(64), nullable=False),
        sa.Column("has_executor", sa.Boolean(), nullable=False),
        sa.Column("heartbeat_at", TIME, nullable=True),
        sa.Column("facts", JSON, nullable=False),
        sa.Column("disk_used_share", sa.Double(), nullable=True),
        sa.Column("certificate_ends_at", TIME, nullable=True),
        sa.Column("fabric", sa.String(64), nullable=True),
        sa.Column("simulated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("draining_since", TIME, nullable=True),
        sa.Column("drained_by", sa.Integer(), nullable=True),
        sa.Column("drain_reason", sa.String(200), server_default="", nullable=False),
        sa.Column("lost_at", TIME, nullable=True),
        sa.Column("booted_at", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["drained_by"], ["users.id"], name=op.f("fk_nodes_drained_by_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
        sa.UniqueConstraint("name", name=op.f("uq_nodes_name")),
    )
    op.create_table(
        "units",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.String(100), nullable=False),
        sa.Column("slice", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", enum("unitkind", "gpu", "cpu_slot"), nullable=False),
        sa.Column("state", enum("unitstate", "ok", "broken", "gone"), nullable=False),
        sa.Column("model", sa.String(100), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("island", sa.String(64), nullable=True),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_units_node_id_nodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_units")),
        sa.UniqueConstraint("node_id", "identity", "slice", name=op.f("uq_units_node_id_identity_slice")),
    )
    create_partial_index("ix_units_broken", "units", ["node_id"], "state = 'broken'")
    op.create_table(
        "node_tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("has_executor", sa.Boolean(), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_tokens")),
    )
    create_partial_index(
        "uq_node_tokens_live_name", "node_tokens", ["name"], "revoked_at IS NULL", unique=True
    )


def create_workspaces() -> None:
    op.create_table(
        "workspaces",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(20), nullable=False),
        sa.Column("description", sa.String(500), nullable=False),
        sa.Column("starts_on", sa.Date(), nullable=False),
        sa.Column("ends_on", sa.Date(), nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("manager_id", sa.Integer(), nullable=False),
        sa.Column("colour", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("last_turn_at", TIME, nullable=True),
        sa.Column("last_turn_attempt_id", sa.Integer(), server_default="0", nullable=False),
        sa.CheckConstraint("colour BETWEEN 1 AND 6", name=op.f("ck_workspaces_colour_in_palette")),
        sa.CheckConstraint("ends_on >= starts_on", name=op.f("ck_workspaces_term_in_order")),
        sa.CheckConstraint("units >= 0", name=op.f("ck_workspaces_units_not_negative")),
        sa.ForeignKeyConstraint(["manager_id"], ["users.id"], name=op.f("fk_workspaces_manager_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspaces")),
        sa.UniqueConstraint("name", name=op.f("uq_workspaces_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "workspace_members",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_workspace_members_user_id_users")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_workspace_members_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "user_id", name=op.f("pk_workspace_members")),
    )
    op.create_index(op.f("ix_workspace_members_user_id"), "workspace_members", ["user_id"])


def create_operations() -> None:
    op.create_table(
        "operations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("queue", enum("taskqueue", "general", "images", "repair", "backups"), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=True),
        sa.Column("workspace_id", sa.Integer(), nullable=True),
        sa.Column(
            "state",
            enum("operationstate", "requested", "running", "finished", "failed", "interrupted"),
            nullable=False,
        ),
        sa.Column("steps", JSON, nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("requested_by", sa.Integer(), nullable=False),
        sa.Column("requested_at", TIME, nullable=False),
        sa.Column("enqueued_at", TIME, nullable=True),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("claims", sa.Integer(), nullable=False),
        sa.Column("holder", sa.String(100), nullable=True),
        sa.Column("lease_until", TIME, nullable=True),
        sa.Column("error_code", sa.String(60), nullable=True),
        sa.Column("error_data", JSON, nullable=True),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["users.id"], name=op.f("fk_operations_requested_by_users")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_operations_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operations")),
        sqlite_autoincrement=True,
    )
    create_partial_index(
        "ix_operations_open",
        "operations",
        ["state", "id"],
        "state IN ('requested', 'running', 'interrupted')",
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("holder", sa.String(100), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )


def create_datasets() -> None:
    """Creates datasets and training environments."""
    op.create_table(
        "environments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column(
            "state", enum("environmentstate", "missing", "building", "ready", "failed"), nullable=False
        ),
        sa.Column("path", sa.String(1000), nullable=False),
        sa.Column("contents", JSON, nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("ready_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["operations.id"], name=op.f("fk_environments_operation_id_operations")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environments")),
        sa.UniqueConstraint("digest", name=op.f("uq_environments_digest")),
    )
    op.create_table(
        "datasets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("kind", enum("datasetkind", "upload", "path", "sample"), nullable=False),
        sa.Column("state", enum("datasetstate", "preparing", "ready", "failed"), nullable=False),
        sa.Column("path", sa.String(1000), nullable=False),
        sa.Column("archive", sa.String(255), nullable=False),
        sa.Column("files", sa.Integer(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("classes", JSON, nullable=True),
        sa.Column("error_code", sa.String(60), nullable=True),
        sa.Column("error_data", JSON, nullable=True),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("deleted_at", TIME, nullable=True),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_datasets_created_by_users")),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["operations.id"], name=op.f("fk_datasets_operation_id_operations")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_datasets_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sqlite_autoincrement=True,
    )
    create_partial_index(
        "uq_datasets_workspace_id_name",
        "datasets",
        ["workspace_id", "name"],
        "deleted_at IS NULL",
        unique=True,
    )


def create_trainings() -> None:
    op.create_table(
        "trainings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(20), nullable=False),
        sa.Column("description", sa.String(500), nullable=False),
        sa.Column("kind", enum("trainingkind", "built_in", "advanced"), nullable=False),
        sa.Column("model", sa.String(20), nullable=True),
        sa.Column("visibility", enum("visibility", "public", "private"), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("code_version", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_trainings_owner_id_users")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_trainings_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trainings")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_trainings_workspace_id_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "training_members",
        sa.Column("training_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["training_id"], ["trainings.id"], name=op.f("fk_training_members_training_id_trainings")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_training_members_user_id_users")),
        sa.PrimaryKeyConstraint("training_id", "user_id", name=op.f("pk_training_members")),
    )


def create_sweeps() -> None:
    op.create_table(
        "sweeps",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("training_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("plan", JSON, nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("most_at_once", sa.Integer(), nullable=True),
        sa.Column("stop_on_trouble", sa.Boolean(), nullable=False),
        sa.Column("submitted_at", TIME, nullable=False),
        sa.Column("stopped_at", TIME, nullable=True),
        sa.Column("stop_code", sa.String(60), nullable=True),
        sa.Column("stop_data", JSON, nullable=True),
        sa.Column("stopping", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.CheckConstraint("jobs > 0", name=op.f("ck_sweeps_jobs_positive")),
        sa.CheckConstraint(
            "most_at_once IS NULL OR most_at_once > 0", name=op.f("ck_sweeps_most_at_once_positive")
        ),
        sa.ForeignKeyConstraint(
            ["training_id"], ["trainings.id"], name=op.f("fk_sweeps_training_id_trainings")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sweeps_user_id_users")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_sweeps_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweeps")),
        sqlite_autoincrement=True,
    )
    create_partial_index("ix_sweeps_stopping", "sweeps", ["id"], "stopping")
    op.create_index(op.f("ix_sweeps_training_id"), "sweeps", ["training_id"])
    op.create_index(op.f("ix_sweeps_workspace_id"), "sweeps", ["workspace_id"])


def create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("training_id", sa.Integer(), nullable=False),
        sa.Column("sweep_id", sa.Integer(), nullable=True),
        sa.Column("sweep_number", sa.Integer(), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column(
            "state",
            enum("jobstate", "waiting", "starting", "running", "stopping", "finished", "failed", "stopped"),
            nullable=False,
        ),
        sa.Column("desired", enum("desiredstate", "run", "stop"), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("launcher", enum("launcher", "horovod", "torchrun", "plain"), nullable=False),
        sa.Column("command", JSON, nullable=False),
        sa.Column("variables", JSON, nullable=False),
        sa.Column("code_version", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("shape", sa.String(40), server_default="", nullable=False),
        sa.Column("held_at", TIME, nullable=True),
        sa.Column("held_by", sa.Integer(), nullable=True),
        sa.Column("time_limit_seconds", sa.Integer(), nullable=True),
        sa.Column("grace_seconds", sa.Integer(), server_default="30", nullable=False),
        sa.Column("retries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("retries_used", sa.Integer(), server_default="0", nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("resume_from", sa.String(200), nullable=True),
        sa.Column("submitted_at", TIME, nullable=False),
        sa.Column("dispatched_at", TIME, nullable=True),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("waiting_code", sa.String(60), nullable=True),
        sa.Column("waiting_data", JSON, nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("end_code", sa.String(60), nullable=True),
        sa.Column("end_data", JSON, nullable=True),
        sa.Column("cpu_seconds", sa.Double(), nullable=True),
        sa.Column("max_memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("average_memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("unit_seconds_used", sa.Double(), nullable=True),
        sa.Column("results", JSON, nullable=True),
        sa.Column("stopped_by", sa.Integer(), nullable=True),
        sa.Column("storage_bytes", sa.BigInteger(), nullable=True),
        sa.Column("files_unwanted_at", TIME, nullable=True),
        sa.Column("files_unwanted_by", sa.String(64), nullable=True),
        sa.Column("files_deleted_at", TIME, nullable=True),
        sa.CheckConstraint("retries >= 0 AND retries_used >= 0", name=op.f("ck_jobs_retries_not_negative")),
        sa.CheckConstraint("units > 0", name=op.f("ck_jobs_units_positive")),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_jobs_dataset_id_datasets")),
        sa.ForeignKeyConstraint(["held_by"], ["users.id"], name=op.f("fk_jobs_held_by_users")),
        sa.ForeignKeyConstraint(["stopped_by"], ["users.id"], name=op.f("fk_jobs_stopped_by_users")),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweeps.id"], name=op.f("fk_jobs_sweep_id_sweeps")),
        sa.ForeignKeyConstraint(
            ["training_id"], ["trainings.id"], name=op.f("fk_jobs_training_id_trainings")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_jobs_user_id_users")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_jobs_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_jobs_dataset_id"), "jobs", ["dataset_id"])
    create_partial_index(
        "ix_jobs_ended", "jobs", ["state", "id"], "state IN ('finished', 'failed', 'stopped')"
    )
    create_partial_index(
        "ix_jobs_files_unwanted", "jobs", ["id"], "files_unwanted_at IS NOT NULL AND files_deleted_at IS NULL"
    )
    create_partial_index("ix_jobs_finished", "jobs", ["training_id", "units", "id"], "state = 'finished'")
    create_partial_index(
        "ix_jobs_held",
        "jobs",
        ["workspace_id", "position", "id"],
        "state = 'waiting' AND held_at IS NOT NULL",
    )
    create_partial_index(
        "ix_jobs_line", "jobs", ["workspace_id", "position", "id"], "state = 'waiting' AND held_at IS NULL"
    )
    create_partial_index(
        "ix_jobs_live", "jobs", ["state", "id"], "state IN ('waiting', 'starting', 'running', 'stopping')"
    )
    create_partial_index("ix_jobs_queued", "jobs", ["position", "id"], "state = 'waiting'")
    create_partial_index("ix_jobs_queued_user", "jobs", ["user_id", "position", "id"], "state = 'waiting'")
    create_partial_index("ix_jobs_reasons", "jobs", ["waiting_code", "id"], "waiting_code IS NOT NULL")
    create_partial_index(
        "ix_jobs_shapes",
        "jobs",
        ["workspace_id", "shape", "position", "id"],
        "state = 'waiting' AND held_at IS NULL",
    )
    create_partial_index(
        "ix_jobs_storage", "jobs", ["storage_bytes"], "storage_bytes > 0 AND files_deleted_at IS NULL"
    )
    op.create_index(op.f("ix_jobs_sweep"), "jobs", ["sweep_id", "state", "id"])
    op.create_index(op.f("ix_jobs_training_id_id"), "jobs", ["training_id", "id"])
    op.create_index(op.f("ix_jobs_user_id_id"), "jobs", ["user_id", "id"])
    op.create_index(op.f("ix_jobs_workspace_id_id"), "jobs", ["workspace_id", "id"])
    create_partial_index(
        "ix_jobs_workspace_live",
        "jobs",
        ["workspace_id", "state", "id"],
        "state IN ('waiting', 'starting', 'running', 'stopping')",
    )


def create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", enum("attemptstate", "placed", "starting", "running", "ended"), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("handle", JSON, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("resumed_from", sa.String(200), nullable=True),
        sa.Column("progress", sa.Double(), nullable=True),
        sa.Column("expected_end_at", TIME, nullable=True),
        sa.Column("earliest_end_at", TIME, nullable=True),
        sa.Column("latest_end_at", TIME, nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("end_code", sa.String(60), nullable=True),
        sa.Column("end_data", JSON, nullable=True),
        sa.Column("cpu_seconds", sa.Double(), nullable=True),
        sa.Column("max_memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("average_memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("unit_seconds_used", sa.Double(), nullable=True),
        sa.Column("storage_bytes", sa.BigInteger(), nullable=True),
        sa.Column("stop_cause_code", sa.String(60), nullable=True),
        sa.Column("stop_cause_data", JSON, nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id_jobs")),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_attempts_node_id_nodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_attempts_job_id_number")),
    )
    op.create_index(op.f("ix_attempts_ended_at"), "attempts", ["ended_at"])
    create_partial_index("uq_attempts_live_job", "attempts", ["job_id"], "ended_at IS NULL", unique=True)
    op.create_table(
        "allocations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("unit_id", sa.Integer(), nullable=False),
        sa.Column("attempt_id", sa.Integer(), nullable=False),
        sa.Column("begun_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempts.id"], name=op.f("fk_allocations_attempt_id_attempts")
        ),
        sa.ForeignKeyConstraint(["unit_id"], ["units.id"], name=op.f("fk_allocations_unit_id_units")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_allocations")),
    )
    op.create_index(op.f("ix_allocations_attempt_id"), "allocations", ["attempt_id"])
    op.create_index(op.f("ix_allocations_ended_at_begun_at"), "allocations", ["ended_at", "begun_at"])
    create_partial_index(
        "uq_allocations_live_unit", "allocations", ["unit_id"], "ended_at IS NULL", unique=True
    )


def create_job_events() -> None:
    op.create_table(
        "job_events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("code", sa.String(60), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_events_job_id_jobs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_events")),
    )
    op.create_index(op.f("ix_job_events_job_id"), "job_events", ["job_id"])


def create_queue_totals() -> None:
    op.create_table(
        "queue_totals",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("shape", sa.String(40), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("counted_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_queue_totals_workspace_id_workspaces")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "shape", name=op.f("pk_queue_totals")),
    )


def create_repair_runs() -> None:
    op.create_table(
        "repair_runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("target", sa.String(60), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("targets", JSON, server_default=sa.text("'[]'"), nullable=False),
        sa.Column("is_dry_run", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.Column("requested_by", sa.Integer(), nullable=False),
        sa.Column("console_user", sa.String(64), nullable=True),
        sa.Column("offline_record", sa.String(32), nullable=True),
        sa.Column("requested_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("cancel_requested_at", TIME, nullable=True),
        sa.Column("is_forced", sa.Boolean(), nullable=False),
        sa.Column("tasks", JSON, nullable=False),
        sa.Column("before", JSON, nullable=False),
        sa.Column("checks", JSON, nullable=False),
        sa.Column("reclaimable_paths", JSON, nullable=False),
        sa.Column(
            "verdict",
            enum("repairverdict", "verified", "not_verified", "cancelled", "broken", "looked_ahead"),
            nullable=True,
        ),
        sa.Column("playbook_rc", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["operations.id"], name=op.f("fk_repair_runs_operation_id_operations")
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["users.id"], name=op.f("fk_repair_runs_requested_by_users")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repair_runs")),
    )
    op.create_index(op.f("ix_repair_runs_by_name"), "repair_runs", ["name", "id"])
    op.create_index(op.f("ix_repair_runs_offline_record"), "repair_runs", ["offline_record"], unique=True)
    op.create_table(
        "repair_locks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(60), nullable=False),
        sa.Column("released_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["repair_runs.id"], name=op.f("fk_repair_locks_run_id_repair_runs")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repair_locks")),
    )
    op.create_index(op.f("ix_repair_locks_run_id"), "repair_locks", ["run_id"])
    create_partial_index(
        "one_repair_per_target", "repair_locks", ["target"], "released_at IS NULL", unique=True
    )


def create_alerts() -> None:
    op.create_table(
        "alert_occurrences",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(120), nullable=False),
        sa.Column("alert", JSON, nullable=False),
        sa.Column("began_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("notified_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_occurrences")),
    )
    op.create_index(op.f("ix_alert_occurrences_by_key"), "alert_occurrences", ["key", "notified_at"])
    op.create_index(op.f("ix_alert_occurrences_ended_at"), "alert_occurrences", ["ended_at"])
    create_partial_index(
        "one_occurrence_per_key", "alert_occurrences", ["key"], "ended_at IS NULL", unique=True
    )
    op.create_table(
        "notifications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("occurrence_id", sa.Integer(), nullable=False),
        sa.Column("channel", enum("notificationchannel", "mail", "webhook"), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("state", enum("notificationstate", "waiting", "sent", "given_up"), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sent_at", TIME, nullable=True),
        sa.Column("error", sa.String(300), nullable=False),
        sa.ForeignKeyConstraint(
            ["occurrence_id"],
            ["alert_occurrences.id"],
            name=op.f("fk_notifications_occurrence_id_alert_occurrences"),
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notifications_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
    )
    op.create_index(op.f("ix_notifications_occurrence_id"), "notifications", ["occurrence_id"])
    create_partial_index("ix_notifications_waiting", "notifications", ["next_at"], "state = 'waiting'")


def create_installation_facts() -> None:
    op.create_table(
        "installation_facts",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("value", JSON, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_installation_facts")),
    )
