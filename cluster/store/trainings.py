"""Trainings: a built-in model or a person's own code, from which jobs are made."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import TrainingKind, Visibility
from cluster.store.base import BaseRow, enum_column
from cluster.store.users import User
from cluster.store.workspaces import Workspace


class Training(BaseRow):
    __tablename__ = "trainings"
    # An id names a folder: never given out twice.
    __table_args__ = (UniqueConstraint("workspace_id", "name"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    name: Mapped[str] = mapped_column(String(20))
    description: Mapped[str] = mapped_column(String(500), default="")
    kind: Mapped[TrainingKind] = mapped_column(enum_column(TrainingKind))
    model: Mapped[str | None] = mapped_column(String(20))
    """A built-in model's name, see cluster.domain.built_in_models; None for own code."""
    visibility: Mapped[Visibility] = mapped_column(enum_column(Visibility), default=Visibility.PUBLIC)
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    code_version: Mapped[int] = mapped_column(default=0)
    """Counts uploads; each lies unchanged in its own folder, and a job names the one it runs."""
    created_at: Mapped[datetime]
    workspace: Mapped[Workspace] = relationship()
    owner: Mapped[User] = relationship()
    members: Mapped[list["User"]] = relationship(secondary="training_members", order_by="User.name")


class TrainingMember(BaseRow):
    """Who besides the owner sees a private training."""

    __tablename__ = "training_members"

    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
