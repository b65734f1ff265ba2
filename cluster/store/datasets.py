"""Datasets: files that trainings read, uploaded or registered by their path."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, false, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import DatasetKind, DatasetState
from cluster.store.base import BaseRow, enum_column
from cluster.store.sql.name_prefix import BY_CHARACTER
from cluster.store.users import User
from cluster.store.workspaces import Workspace

NAME_IN_USE = text("deleted_at IS NULL AND state <> 'failed'")


class Dataset(BaseRow):
    __tablename__ = "datasets"
    __table_args__ = (
        Index(
            "uq_datasets_workspace_id_name",
            "workspace_id",
            "name",
            unique=True,
            sqlite_where=NAME_IN_USE,
            postgresql_where=NAME_IN_USE,
        ),
        Index("ix_datasets_name", "name", postgresql_ops=BY_CHARACTER),
        {"sqlite_autoincrement": True},  # An id names a folder, so it is never given out twice.
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    name: Mapped[str] = mapped_column(String(50))
    kind: Mapped[DatasetKind] = mapped_column(enum_column(DatasetKind))
    state: Mapped[DatasetState] = mapped_column(enum_column(DatasetState), default=DatasetState.PREPARING)
    path: Mapped[str] = mapped_column(String(1000), default="")
    """The absolute path of a registered dataset. Empty for one in our own storage, which is found by its id."""
    archive: Mapped[str] = mapped_column(String(255), default="")
    """The user's name of the uploaded archive."""
    has_latin_names: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether file names that the rule refuses are replaced while the archive is unpacked."""
    files: Mapped[int | None]
    bytes: Mapped[int | None] = mapped_column(BigInteger)
    classes: Mapped[list[Any] | None]
    """[[label, number of images], …] if the dataset has a folder of images per class."""
    error_code: Mapped[str | None] = mapped_column(String(60))
    error_data: Mapped[dict[str, Any] | None]
    created_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
    """The row stays, because finished jobs refer to it. The files are deleted."""
    failure_dismissed_at: Mapped[datetime | None]
    """The time at which the creator dismissed the failure of the dataset, which is no alert any more."""
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    workspace: Mapped[Workspace] = relationship()
    creator: Mapped[User] = relationship()
