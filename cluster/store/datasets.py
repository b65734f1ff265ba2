"""Datasets: what trainings read, uploaded or registered where it lies."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import DatasetKind, DatasetState
from cluster.store.base import BaseRow, enum_column
from cluster.store.users import User
from cluster.store.workspaces import Workspace


class Dataset(BaseRow):
    __tablename__ = "datasets"
    __table_args__ = (
        Index(
            "uq_datasets_workspace_id_name",
            "workspace_id",
            "name",
            unique=True,
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
        {"sqlite_autoincrement": True},  # An id names a folder: never given out twice.
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    name: Mapped[str] = mapped_column(String(50))
    kind: Mapped[DatasetKind] = mapped_column(enum_column(DatasetKind))
    state: Mapped[DatasetState] = mapped_column(enum_column(DatasetState), default=DatasetState.PREPARING)
    path: Mapped[str] = mapped_column(String(1000), default="")
    """Absolute path of a registered path; empty for what lies in our own storage by id."""
    archive: Mapped[str] = mapped_column(String(255), default="")
    """Name of the uploaded archive, as the user called it."""
    files: Mapped[int | None]
    bytes: Mapped[int | None] = mapped_column(BigInteger)
    classes: Mapped[list[Any] | None]
    """[[label, number of images], …] where it is a folder-per-class data set of images."""
    error_code: Mapped[str | None] = mapped_column(String(60))
    error_data: Mapped[dict[str, Any] | None]
    created_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
    """The row stays, because finished jobs name it; its files go."""
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    workspace: Mapped[Workspace] = relationship()
    creator: Mapped[User] = relationship()
