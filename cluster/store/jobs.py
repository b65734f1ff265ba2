"""Jobs hold intent and outcome; each try is an attempt with a fence; events are the history."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import AttemptState, Desired, JobState, Launcher
from cluster.store.base import Row, by_value
from cluster.store.datasets import Dataset
from cluster.store.nodes import Allocation, Node
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace

LIVING = text("state IN ('waiting', 'starting', 'running', 'stopping')")


class Job(Row):
    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("units > 0", name="units_positive"),
        Index("ix_jobs_living", "state", "priority", "id", sqlite_where=LIVING, postgresql_where=LIVING),
        Index(None, "workspace_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(60))
    state: Mapped[JobState] = mapped_column(by_value(JobState), default=JobState.WAITING)
    desired: Mapped[Desired] = mapped_column(by_value(Desired), default=Desired.RUN)
    fence: Mapped[int] = mapped_column(default=0)
    """Counts attempts; every change by scheduler or task is compare-and-set on it."""
    units: Mapped[int]
    launcher: Mapped[Launcher] = mapped_column(by_value(Launcher))
    command: Mapped[list[Any]]
    """Own code: [script, argument, …] as typed, one element each. Built-in: empty."""
    variables: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Built-in model: checked values by name."""
    code_version: Mapped[int] = mapped_column(default=0)
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    priority: Mapped[int] = mapped_column(default=0)
    """Higher goes first within the workspace."""
    time_limit_seconds: Mapped[int | None]
    submitted_at: Mapped[datetime]
    dispatched_at: Mapped[datetime | None]
    """Units were given for the first time."""
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    waiting_code: Mapped[str | None] = mapped_column(String(60))
    waiting_data: Mapped[dict[str, Any] | None]
    exit_code: Mapped[int | None]
    end_code: Mapped[str | None] = mapped_column(String(60))
    """Why it ended, e.g. `exit.finished`, `exit.command_not_found`, `exit.stopped`."""
    end_data: Mapped[dict[str, Any] | None]
    cpu_seconds: Mapped[float | None]
    max_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    stopped_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    workspace: Mapped[Workspace] = relationship()
    training: Mapped[Training] = relationship()
    user: Mapped[User] = relationship(foreign_keys=user_id)
    dataset: Mapped[Dataset | None] = relationship()
    attempts: Mapped[list["Attempt"]] = relationship(back_populates="job", order_by="Attempt.number")
    events: Mapped[list["JobEvent"]] = relationship(order_by="JobEvent.id")


class Attempt(Row):
    """One try. The partial unique index forbids two living ones of one job."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(
            "uq_attempts_living_job",
            "job_id",
            unique=True,
            sqlite_where=text("ended_at IS NULL"),
            postgresql_where=text("ended_at IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"))
    number: Mapped[int]
    """Also the fence under which it may change the job."""
    state: Mapped[AttemptState] = mapped_column(by_value(AttemptState), default=AttemptState.PLACED)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id"))
    handle: Mapped[dict[str, Any] | None]
    """How the executor finds it again: boot id, pid and start ticks of the shim."""
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    exit_code: Mapped[int | None]
    end_code: Mapped[str | None] = mapped_column(String(60))
    end_data: Mapped[dict[str, Any] | None]
    job: Mapped[Job] = relationship(back_populates="attempts")
    node: Mapped[Node] = relationship()
    allocations: Mapped[list[Allocation]] = relationship(order_by="Allocation.id")


class JobEvent(Row):
    """One line of a job's history: a new state, a new reason to wait, a request."""

    __tablename__ = "job_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), index=True)
    at: Mapped[datetime]
    state: Mapped[str] = mapped_column(String(20))
    """The job's state from this moment on."""
    code: Mapped[str] = mapped_column(String(60))
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
