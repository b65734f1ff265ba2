"""Trainings: a built-in model or a person's own code, from which jobs are made."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.jobs.headline_metric import Objective
from cluster.domain.states import CodeState, GitCredential, TrainingKind, Visibility
from cluster.store.base import BaseRow, enum_column
from cluster.store.operations import Operation
from cluster.store.sql.name_prefix import BY_CHARACTER
from cluster.store.users import User
from cluster.store.workspaces import Workspace


class Training(BaseRow):
    __tablename__ = "trainings"
    __table_args__ = (
        Index(
            "uq_trainings_workspace_id_name",
            "workspace_id",
            "name",
            unique=True,
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
        Index("ix_trainings_name", "name", postgresql_ops=BY_CHARACTER),
        {"sqlite_autoincrement": True},  # An id names a folder, so it is never given out twice.
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    name: Mapped[str] = mapped_column(String(20))
    description: Mapped[str] = mapped_column(String(500), default="")
    kind: Mapped[TrainingKind] = mapped_column(enum_column(TrainingKind))
    model: Mapped[str | None] = mapped_column(String(20))
    """The name of a built-in model, see cluster.domain.built_in_models. None for own code."""
    visibility: Mapped[Visibility] = mapped_column(enum_column(Visibility), default=Visibility.PUBLIC)
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    code_version: Mapped[int] = mapped_column(default=0)
    """The number of the newest code that is ready; 0 if there is none. Each version keeps its own folder, and a job
    names the one that it runs.
    """
    environment_id: Mapped[int | None]
    """The environment of its jobs, unless they name another one. None: the default. Rows of environments are never
    deleted, so that a foreign key, for which SQLite would copy the table, would add nothing.
    """
    objective_metric: Mapped[str | None] = mapped_column(String(100))
    """The metric by which its jobs are compared, unless their program names another one. None: it is chosen by name."""
    objective_is_lower_better: Mapped[bool | None]
    """None if there is no objective."""
    created_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
    """While it is set, no job can be submitted, and lists show the training only if asked for."""
    deleted_at: Mapped[datetime | None]
    """The row stays, because its jobs refer to it. The code is deleted."""
    workspace: Mapped[Workspace] = relationship()
    owner: Mapped[User] = relationship()
    members: Mapped[list["User"]] = relationship(secondary="training_members", order_by="User.name")

    @property
    def objective(self) -> Objective | None:
        if self.objective_metric is None:
            return None
        return Objective(self.objective_metric, bool(self.objective_is_lower_better))


def objective_columns(objective: Objective | None) -> dict[str, Any]:
    return {
        "objective_metric": objective.metric if objective else None,
        "objective_is_lower_better": objective.lower_is_better if objective else None,
    }


class TrainingMember(BaseRow):
    """A person, other than the owner, who may see a private training."""

    __tablename__ = "training_members"

    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)


class CodeVersion(BaseRow):
    """One version of a training's code. Its files lie in a folder of their own, which does not change once it is
    ready.
    """

    __tablename__ = "code_versions"
    __table_args__ = (Index(None, "operation_id"),)

    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[CodeState] = mapped_column(enum_column(CodeState))
    source: Mapped[str] = mapped_column(String(20))
    """A value of `CodeSource`. The database does not check it, so that a new source needs no migration."""
    origin: Mapped[str] = mapped_column(String(1000), default="")
    """The user's name of the archive that it was unpacked from, or the git source as `git_sources.origin_of` names it.
    Empty for single files.
    """
    commit_id: Mapped[str | None] = mapped_column(String(64))
    """The commit whose files these are. None for every other source."""
    commit_author: Mapped[str | None] = mapped_column(String(200))
    commit_subject: Mapped[str | None] = mapped_column(String(500))
    base: Mapped[int | None]
    """The version whose files it has kept, unless they were replaced or removed. None: it began empty."""
    files: Mapped[int | None]
    bytes: Mapped[int | None] = mapped_column(BigInteger)
    manifest: Mapped[list[Any] | None] = mapped_column(deferred=True)
    """[[path, bytes, SHA-256], …] by path. None before it is ready, and for code of older installations."""
    created_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    error_code: Mapped[str | None] = mapped_column(String(60))
    error_data: Mapped[dict[str, Any] | None]
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    training: Mapped[Training] = relationship()
    creator: Mapped[User] = relationship()


class GitSource(BaseRow):
    """The git repository from which a training's code is fetched, and how the last fetch ended."""

    __tablename__ = "git_sources"
    __table_args__ = (Index(None, "operation_id"),)

    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"), primary_key=True)
    url: Mapped[str] = mapped_column(String(500))
    reference: Mapped[str] = mapped_column(String(200), default="")
    """A branch, a tag or a commit id. Empty for the repository's default branch."""
    folder: Mapped[str] = mapped_column(String(300), default="")
    """The folder of the repository that becomes the code. Empty for all of it."""
    credential: Mapped[GitCredential] = mapped_column(enum_column(GitCredential))
    user_name: Mapped[str] = mapped_column(String(100), default="")
    """The name that is sent with a token."""
    sealed_secret: Mapped[str | None] = mapped_column(String(20_000), deferred=True)
    """The token or the private key, sealed by `cluster.credential_box`."""
    public_key: Mapped[str | None] = mapped_column(String(2000))
    known_hosts: Mapped[str | None] = mapped_column(String(4000))
    """The server's key, as the first fetch over ssh has seen it. Later fetches accept no other."""
    set_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    set_at: Mapped[datetime]
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    """The newest fetch."""
    found_version: Mapped[int | None]
    """The version that has the commit of the newest successful fetch."""
    is_found_new: Mapped[bool] = mapped_column(default=False)
    """Whether that fetch made the version, rather than finding nothing new."""
    setter: Mapped[User] = relationship()
    operation: Mapped[Operation | None] = relationship()


class WorkingCopy(BaseRow):
    """The files of one person for one training, which all of the person's notebooks of it share."""

    __tablename__ = "working_copies"

    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    code_version: Mapped[int]
    """The version that it began from or was last saved as; 0 if it began empty."""
