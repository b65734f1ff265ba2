"""Trainings have a git source, and versions of code the commit whose files they are."""

import sqlalchemy as sa
from alembic import op

revision = "0111"
down_revision = "0110"


def upgrade() -> None:
    op.add_column("code_versions", sa.Column("commit_id", sa.String(64), nullable=True))
    op.add_column("code_versions", sa.Column("commit_author", sa.String(200), nullable=True))
    op.add_column("code_versions", sa.Column("commit_subject", sa.String(500), nullable=True))
    credentials = ("none", "token", "deploy_key")
    op.create_table(
        "git_sources",
        sa.Column("training_id", sa.Integer(), nullable=False),
        sa.Column("url", sa.String(500), nullable=False),
        sa.Column("reference", sa.String(200), nullable=False),
        sa.Column("folder", sa.String(300), nullable=False),
        sa.Column(
            "credential",
            sa.Enum(*credentials, name="gitcredential", native_enum=False, length=20, create_constraint=True),
            nullable=False,
        ),
        sa.Column("user_name", sa.String(100), nullable=False),
        sa.Column("sealed_secret", sa.String(20_000), nullable=True),
        sa.Column("public_key", sa.String(2000), nullable=True),
        sa.Column("known_hosts", sa.String(4000), nullable=True),
        sa.Column("set_by", sa.Integer(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("operation_id", sa.Integer(), nullable=True),
        sa.Column("found_version", sa.Integer(), nullable=True),
        sa.Column("is_found_new", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["training_id"], ["trainings.id"], name=op.f("fk_git_sources_training_id_trainings")
        ),
        sa.ForeignKeyConstraint(["set_by"], ["users.id"], name=op.f("fk_git_sources_set_by_users")),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["operations.id"], name=op.f("fk_git_sources_operation_id_operations")
        ),
        sa.PrimaryKeyConstraint("training_id", name=op.f("pk_git_sources")),
    )
    op.create_index(op.f("ix_git_sources_operation_id"), "git_sources", ["operation_id"])
