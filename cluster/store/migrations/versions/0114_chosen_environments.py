"""Environments have a source, a scope and their packages; trainings and jobs choose one, and attempts keep in which
they ran."""

import sqlalchemy as sa
from alembic import op

revision = "0114"
down_revision = "0113"

NAMED = sa.text("deleted_at IS NULL AND source <> 'default'")


def upgrade() -> None:
    change_environments()
    create_environment_workspaces()
    for table in ("trainings", "jobs", "attempts"):
        op.add_column(table, sa.Column("environment_id", sa.Integer(), nullable=True))


def change_environments() -> None:
    """Two environments may have the same packages, and an image's digest is longer. SQLite has to copy the table."""
    with op.batch_alter_table("environments") as table:
        table.add_column(sa.Column("source", sa.String(20), nullable=False, server_default="default"))
        table.add_column(sa.Column("description", sa.String(500), nullable=False, server_default=""))
        table.add_column(sa.Column("reference", sa.String(500), nullable=False, server_default=""))
        table.add_column(sa.Column("python", sa.String(40), nullable=False, server_default=""))
        table.add_column(sa.Column("gpu_support", sa.String(10), nullable=False, server_default=""))
        table.add_column(sa.Column("size_bytes", sa.BigInteger(), nullable=True))
        table.add_column(sa.Column("requirements", sa.Text(), nullable=True))
        table.add_column(sa.Column("pins", sa.Text(), nullable=True))
        table.add_column(sa.Column("builds_sources", sa.Boolean(), nullable=False, server_default=sa.false()))
        table.add_column(sa.Column("is_global", sa.Boolean(), nullable=False, server_default=sa.true()))
        table.add_column(sa.Column("created_by", sa.Integer(), nullable=True))
        table.add_column(sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
        table.alter_column("digest", existing_type=sa.String(64), type_=sa.String(80))
        table.drop_constraint(op.f("uq_environments_digest"), type_="unique")
    op.create_index("ix_environments_digest", "environments", ["digest"])
    op.create_index(
        "uq_environments_name",
        "environments",
        ["name"],
        unique=True,
        sqlite_where=NAMED,
        postgresql_where=NAMED,
    )


def create_environment_workspaces() -> None:
    op.create_table(
        "environment_workspaces",
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_id"],
            ["environments.id"],
            name=op.f("fk_environment_workspaces_environment_id_environments"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspaces.id"],
            name=op.f("fk_environment_workspaces_workspace_id_workspaces"),
        ),
        sa.PrimaryKeyConstraint("environment_id", "workspace_id", name=op.f("pk_environment_workspaces")),
    )
    op.create_index(
        op.f("ix_environment_workspaces_workspace_id"), "environment_workspaces", ["workspace_id"]
    )
