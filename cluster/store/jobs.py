"""Rows of jobs, their attempts, their events and sweeps."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import AttemptState, DesiredState, JobState, Launcher
from cluster.store.base import BaseRow, enum_column
from cluster.store.datasets import Dataset
from cluster.store.nodes import Allocation, Node
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace

POSITION_STEP = 1 << 20
"""Room between two jobs' positions, so that one can be moved between them without touching the others."""
PRIORITY_STEP = 1 << 52
"""A higher priority stands before everything of a lower one: more than the largest id's position."""

LIVE = text("state IN ('waiting', 'starting', 'running', 'stopping')")
IS_LIVE = text("jobs.state IN ('waiting', 'starting', 'running', 'stopping')")
"""The same for a search: SQLite takes a partial index only where the index's own condition is repeated."""
ENDED = text("state IN ('finished', 'failed', 'stopped')")
IS_ENDED = text("jobs.state IN ('finished', 'failed', 'stopped')")
QUEUED = text("state = 'waiting'")
IN_LINE = text("state = 'waiting' AND held_at IS NULL")
HELD = text("state = 'waiting' AND held_at IS NOT NULL")

FILES_TO_DELETE = text("files_unwanted_at IS NOT NULL AND files_deleted_at IS NULL")
"""Somebody has asked for the deletion of its files, and they are still there."""
STORED = text("storage_bytes > 0 AND files_deleted_at IS NULL")


def first_position(job_id: int, priority: int) -> int:
    """Where a new job stands in its workspace's line: by priority, then first come."""
    return job_id * POSITION_STEP - priority * PRIORITY_STEP


def job_shape(
    units: int, time_limit_seconds: int | None, dataset_id: int | None, sweep_id: int | None
) -> str:
    """The key of jobs that placement treats alike: units, class of time limit, data set and sweep; sorts by units.

    Time limits count by powers of two: what slips past a promised start by one slips past by the other.
    """
    limit = time_limit_seconds.bit_length() if time_limit_seconds else "-"
    return f"{units:05}:{limit}:{dataset_id or '-'}:{sweep_id or '-'}"


def _shape_of_row(context: DefaultExecutionContext) -> str:
    row = context.get_current_parameters()  # type: ignore[no-untyped-call]
    return job_shape(row["units"], row.get("time_limit_seconds"), row.get("dataset_id"), row.get("sweep_id"))


class Job(BaseRow):
    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("units > 0", name="units_positive"),
        Index("ix_jobs_live", "state", "id", sqlite_where=LIVE, postgresql_where=LIVE),
        Index(
            "ix_jobs_workspace_live", "workspace_id", "state", "id", sqlite_where=LIVE, postgresql_where=LIVE
        ),
        Index("ix_jobs_ended", "state", "id", sqlite_where=ENDED, postgresql_where=ENDED),
        # The queue's hot path: the line of a workspace, its shapes, the line of all, a person's, who is held.
        Index(
            "ix_jobs_line", "workspace_id", "position", "id", sqlite_where=IN_LINE, postgresql_where=IN_LINE
        ),
        Index(
            "ix_jobs_shapes",
            "workspace_id",
            "shape",
            "position",
            "id",
            sqlite_where=IN_LINE,
            postgresql_where=IN_LINE,
        ),
        Index("ix_jobs_queued", "position", "id", sqlite_where=QUEUED, postgresql_where=QUEUED),
        Index(
            "ix_jobs_queued_user", "user_id", "position", "id", sqlite_where=QUEUED, postgresql_where=QUEUED
        ),
        Index("ix_jobs_held", "workspace_id", "position", "id", sqlite_where=HELD, postgresql_where=HELD),
        Index(
            "ix_jobs_reasons",
            "waiting_code",
            "id",
            sqlite_where=text("waiting_code IS NOT NULL"),
            postgresql_where=text("waiting_code IS NOT NULL"),
        ),
        # How long a job of the kind usually takes, by the newest that finished.
        Index(
            "ix_jobs_finished",
            "training_id",
            "units",
            "id",
            sqlite_where=text("state = 'finished'"),
            postgresql_where=text("state = 'finished'"),
        ),
        Index(None, "user_id", "id"),
        Index(None, "training_id", "id"),
        CheckConstraint("retries >= 0 AND retries_used >= 0", name="retries_not_negative"),
        Index(None, "workspace_id", "id"),
        Index("ix_jobs_sweep", "sweep_id", "state", "id"),
        Index("ix_jobs_files_unwanted", "id", sqlite_where=FILES_TO_DELETE, postgresql_where=FILES_TO_DELETE),
        Index("ix_jobs_storage", "storage_bytes", sqlite_where=STORED, postgresql_where=STORED),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"))
    sweep_id: Mapped[int | None] = mapped_column(ForeignKey("sweeps.id"))
    sweep_number: Mapped[int | None]
    """Its place in the sweep's list, from 1."""
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(60))
    state: Mapped[JobState] = mapped_column(enum_column(JobState), default=JobState.WAITING)
    desired: Mapped[DesiredState] = mapped_column(enum_column(DesiredState), default=DesiredState.RUN)
    fence: Mapped[int] = mapped_column(default=0)
    """Counts attempts; every change by scheduler or task is compare-and-set on it."""
    units: Mapped[int]
    launcher: Mapped[Launcher] = mapped_column(enum_column(Launcher))
    command: Mapped[list[Any]]
    """Own code: [script, argument, …] as typed, one element each. Built-in: empty."""
    variables: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Built-in model: checked values by name."""
    code_version: Mapped[int] = mapped_column(default=0)
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    priority: Mapped[int] = mapped_column(default=0)
    """Higher goes first within the workspace."""
    position: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """Its place in the workspace's line, the lowest first: `first_position` until somebody moves it."""
    shape: Mapped[str] = mapped_column(String(40), default=_shape_of_row, server_default="")
    """`job_shape` this job."""
    held_at: Mapped[datetime | None]
    """Set: it does not start until the manager lets it go, and stands in nobody's way."""
    held_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    time_limit_seconds: Mapped[int | None]
    grace_seconds: Mapped[int] = mapped_column(default=30, server_default="30")
    """Between SIGTERM and SIGKILL once the time limit has passed."""
    retries: Mapped[int] = mapped_column(default=0, server_default="0")
    """How often a failed attempt is followed by another; interruptions do not count."""
    retries_used: Mapped[int] = mapped_column(default=0, server_default="0")
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """Of all its units together; None: their share of the node."""
    resume_from: Mapped[str | None] = mapped_column(String(200))
    """The checkpoint that the next attempt begins with: `<attempt number>/<file name>`."""
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
    average_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    unit_seconds_used: Mapped[float | None]
    """Seconds in which its units worked, summed (GPU utilisation, CPU time on slots)."""
    results: Mapped[dict[str, Any] | None]
    """What it measured, once it has ended: {metric: [lowest, highest, last]}, numbers alone."""
    stopped_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    storage_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """What the files of its ended attempts take on the disk, as their shims counted it."""
    files_unwanted_at: Mapped[datetime | None]
    """When the deletion of its files was asked for; the scheduler deletes them."""
    files_unwanted_by: Mapped[str | None] = mapped_column(String(64))
    """The name of who asked."""
    files_deleted_at: Mapped[datetime | None]
    workspace: Mapped[Workspace] = relationship()
    training: Mapped[Training] = relationship()
    user: Mapped[User] = relationship(foreign_keys=user_id)
    dataset: Mapped[Dataset | None] = relationship()
    attempts: Mapped[list["Attempt"]] = relationship(back_populates="job", order_by="Attempt.number")
    events: Mapped[list["JobEvent"]] = relationship(order_by="JobEvent.id")


class Attempt(BaseRow):
    """One try. The partial unique index forbids two live ones of one job."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(
            "uq_attempts_live_job",
            "job_id",
            unique=True,
            sqlite_where=text("ended_at IS NULL"),
            postgresql_where=text("ended_at IS NULL"),
        ),
        # Accounting asks what ended in a month.
        Index(None, "ended_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"))
    number: Mapped[int]
    """Also the fence under which it may change the job."""
    state: Mapped[AttemptState] = mapped_column(enum_column(AttemptState), default=AttemptState.PLACED)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id"))
    """Where it runs; of a gang over several nodes the first one, the allocations know the others."""
    handle: Mapped[dict[str, Any] | None]
    """How the executor finds it again: boot id, pid and start ticks of the shim."""
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    resumed_from: Mapped[str | None] = mapped_column(String(200))
    """The checkpoint with which it began; None: from the beginning."""
    progress: Mapped[float | None]
    """How much of its way it has done, 0 to 1, as its program says."""
    expected_end_at: Mapped[datetime | None]
    """When it ends at the pace at which it gets on; then the same at its fastest and at its slowest pace."""
    earliest_end_at: Mapped[datetime | None]
    latest_end_at: Mapped[datetime | None]
    exit_code: Mapped[int | None]
    end_code: Mapped[str | None] = mapped_column(String(60))
    end_data: Mapped[dict[str, Any] | None]
    cpu_seconds: Mapped[float | None]
    max_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    average_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    unit_seconds_used: Mapped[float | None]
    storage_bytes: Mapped[int | None] = mapped_column(BigInteger)
    stop_cause_code: Mapped[str | None] = mapped_column(String(60))
    """Why the scheduler ends it although nobody asked for that."""
    stop_cause_data: Mapped[dict[str, Any] | None]
    job: Mapped[Job] = relationship(back_populates="attempts")
    node: Mapped[Node] = relationship()
    allocations: Mapped[list[Allocation]] = relationship(order_by="Allocation.id")


class Sweep(BaseRow):
    """Many jobs made at once from several values per parameter; the jobs know it by `sweep_id`."""

    __tablename__ = "sweeps"
    __table_args__ = (
        CheckConstraint("jobs > 0", name="jobs_positive"),
        CheckConstraint("most_at_once IS NULL OR most_at_once > 0", name="most_at_once_positive"),
        Index("ix_sweeps_stopping", "id", sqlite_where=text("stopping"), postgresql_where=text("stopping")),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"), index=True)
    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(60))
    plan: Mapped[dict[str, Any]]
    """What was asked for: {"kind": "grid"|"list", "values": {parameter: [value, …]}}."""
    jobs: Mapped[int]
    """How many jobs it made."""
    most_at_once: Mapped[int | None]
    """At most so many of its jobs run at the same time; None: as units allow."""
    stop_on_trouble: Mapped[bool] = mapped_column(default=False)
    """The first crash or NaN stops the jobs that have not ended."""
    submitted_at: Mapped[datetime]
    stopped_at: Mapped[datetime | None]
    stop_code: Mapped[str | None] = mapped_column(String(60))
    """Why it was stopped: `sweep.crash`, `sweep.nan`, `sweep.stopped_by`."""
    stop_data: Mapped[dict[str, Any] | None]
    stopping: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Marked where a job's end was recorded: the scheduler has still to stop the rest."""
    workspace: Mapped[Workspace] = relationship()
    training: Mapped[Training] = relationship()
    user: Mapped[User] = relationship()


class JobEvent(BaseRow):
    """One line of a job's history: a new state, a new reason to wait, a request."""

    __tablename__ = "job_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), index=True)
    at: Mapped[datetime]
    state: Mapped[str] = mapped_column(String(20))
    """The job's state from this moment on."""
    code: Mapped[str] = mapped_column(String(60))
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)
