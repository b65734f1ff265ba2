"""Versions of code as rows, archived and deleted trainings, jobs that continue from a checkpoint of another one."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0106"
down_revision = "0105"

JSON = sa.JSON().with_variant(JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)
NOT_DELETED = sa.text("deleted_at IS NULL")
OLD_VERSIONS = """
WITH RECURSIVE versions (training_id, number, owner_id, created_at) AS (
    SELECT id, 1, owner_id, created_at FROM trainings WHERE code_version > 0
    UNION ALL
    SELECT versions.training_id, versions.number + 1, versions.owner_id, versions.created_at
    FROM versions JOIN trainings ON trainings.id = versions.training_id
    WHERE versions.number < trainings.code_version
)
INSERT INTO code_versions (training_id, number, state, source, origin, created_by, created_at)
SELECT training_id, number, 'ready', 'files', '', owner_id, created_at FROM versions
"""


def upgrade() -> None:
    create_code_versions()
    op.execute(OLD_VERSIONS)
    change_trainings()
    change_jobs()


def create_code_versions() -> None:
    states = ("preparing", "ready", "failed")
    op.create_table(
        "code_versions",
        sa.Column("training_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "state",
            sa.Enum(*states, name="codestate", native_enum=False, length=20, create_constraint=True),
            nullable=False,
        ),
        sa.Column("source", sa.String(20), nullable=False),
        sa.Column("origin", sa.String(1000), nullable=False),
        sa.Column("base", sa.Integer(), nullable=True),
        sa.Column("files", sa.Integer(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("manifest", JSON, nullable=True),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("error_code", sa.String(60), nullable=True),
        sa.Column("error_data", JSON, nullable=True),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["training_id"], ["trainings.id"], name=op.f("fk_code_versions_training_id_trainings")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_code_versions_created_by_users")),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["operations.id"], name=op.f("fk_code_versions_operation_id_operations")
        ),
        sa.PrimaryKeyConstraint("training_id", "number", name=op.f("pk_code_versions")),
    )
    op.create_index(op.f("ix_code_versions_operation_id"), "code_versions", ["operation_id"])


def change_trainings() -> None:
    """The name of a deleted training may be given again. SQLite has to copy the table for that."""
    with op.batch_alter_table("trainings", table_kwargs={"sqlite_autoincrement": True}) as table:
        table.add_column(sa.Column("archived_at", TIME, nullable=True))
        table.add_column(sa.Column("deleted_at", TIME, nullable=True))
        table.drop_constraint(op.f("uq_trainings_workspace_id_name"), type_="unique")
    op.create_index(
        "uq_trainings_workspace_id_name",
        "trainings",
        ["workspace_id", "name"],
        unique=True,
        sqlite_where=NOT_DELETED,
        postgresql_where=NOT_DELETED,
    )


def change_jobs() -> None:
    op.add_column("jobs", sa.Column("continues_job_id", sa.Integer(), nullable=True))
    op.add_column("jobs", sa.Column("continues_from", sa.String(200), nullable=True))
    continues = sa.text("continues_job_id IS NOT NULL")
    op.create_index(
        "ix_jobs_continues_job_id",
        "jobs",
        ["continues_job_id"],
        sqlite_where=continues,
        postgresql_where=continues,
    )
