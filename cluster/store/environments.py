"""Environments in which jobs run, and the state of their build."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, String, Text, false, text, true
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import EnvironmentSource, EnvironmentState
from cluster.store.base import BaseRow, enum_column
from cluster.store.operations import Operation
from cluster.store.users import User
from cluster.store.workspaces import Workspace

NAMED = text("deleted_at IS NULL AND source <> 'default'")


class Environment(BaseRow):
    """An environment in which programs of jobs run. Its contents never change: another digest is another row."""

    __tablename__ = "environments"
    __table_args__ = (
        Index("ix_environments_digest", "digest"),
        Index("uq_environments_name", "name", unique=True, sqlite_where=NAMED, postgresql_where=NAMED),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    digest: Mapped[str] = mapped_column(String(80), default="")
    """The hash of what it was made from: of a description, of pinned packages, or of an image's manifest. Empty before
    the packages are pinned.
    """
    state: Mapped[EnvironmentState] = mapped_column(
        enum_column(EnvironmentState), default=EnvironmentState.MISSING
    )
    source: Mapped[str] = mapped_column(
        String(20), default=EnvironmentSource.DEFAULT.value, server_default=EnvironmentSource.DEFAULT.value
    )
    """A value of `EnvironmentSource`. The database does not check it, so that a new source needs no migration."""
    description: Mapped[str] = mapped_column(String(500), default="", server_default="")
    path: Mapped[str] = mapped_column(String(1000), default="")
    """The folder of its files. Empty for an image."""
    reference: Mapped[str] = mapped_column(String(500), default="", server_default="")
    """The name by which nodes pull an image. Empty for every other source."""
    contents: Mapped[list[Any]] = mapped_column(default=list)
    """[[library, version, purpose], …] as read from the finished build."""
    python: Mapped[str] = mapped_column(String(40), default="", server_default="")
    """The version of Python that it was asked to have, as 3.11, and once it is ready the version that it has."""
    gpu_support: Mapped[str] = mapped_column(String(10), default="", server_default="")
    """A value of `GpuSupport` that was recorded with an image. Empty: its contents decide."""
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    requirements: Mapped[str | None] = mapped_column(Text, deferred=True)
    """The requirements file as it was given."""
    pins: Mapped[str | None] = mapped_column(Text, deferred=True)
    """Every package with its version and its hashes, as they were resolved. A second build installs the same."""
    builds_sources: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    """Whether packages without a wheel may run their own build scripts."""
    base_id: Mapped[int | None] = mapped_column(ForeignKey("environments.id"))
    """The environment of which it is a copy, with its own packages on top. None: it begins empty."""
    is_global: Mapped[bool] = mapped_column(Boolean, default=True, server_default=true())
    """Whether every workspace may choose it, or only those of `workspaces`."""
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    created_by: Mapped[int | None]
    """The user who added it; None for the installation's own."""
    created_at: Mapped[datetime]
    ready_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]
    """The row stays, because jobs ran in it. Its files are deleted."""
    operation: Mapped[Operation | None] = relationship()
    base: Mapped["Environment | None"] = relationship(remote_side=[id])
    creator: Mapped[User | None] = relationship(
        primaryjoin="foreign(Environment.created_by) == User.id", viewonly=True
    )
    workspaces: Mapped[list[Workspace]] = relationship(
        secondary="environment_workspaces", order_by="Workspace.name"
    )


class EnvironmentWorkspace(BaseRow):
    """A workspace that may choose an environment that is not global."""

    __tablename__ = "environment_workspaces"

    environment_id: Mapped[int] = mapped_column(ForeignKey("environments.id"), primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"), primary_key=True, index=True)
