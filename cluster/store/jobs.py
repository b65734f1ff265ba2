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

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.jobs.metric_names import is_lower_better
from cluster.domain.states import AttemptState, DesiredState, JobKind, JobState, Launcher
from cluster.store.base import BaseRow, enum_column
from cluster.store.datasets import Dataset
from cluster.store.nodes import Allocation, Node
from cluster.store.sql.name_prefix import BY_CHARACTER
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace

POSITION_STEP = 1 << 20
"""The distance between two jobs' positions, so that a job can be moved between them without changing others."""
PRIORITY_STEP = 1 << 52
"""A higher priority comes before all jobs of a lower one, because the step is more than the largest id's position."""

LIVE = text("state IN ('waiting', 'starting', 'running', 'stopping')")
IS_LIVE = text("jobs.state IN ('waiting', 'starting', 'running', 'stopping')")
"""The condition for queries. SQLite uses a partial index only if the query repeats the index's condition."""
ENDED = text("state IN ('finished', 'failed', 'stopped')")
IS_ENDED = text("jobs.state IN ('finished', 'failed', 'stopped')")
FAILED_UNSEEN = text("state = 'failed' AND failure_dismissed_at IS NULL")
IS_FAILED_UNSEEN = text("jobs.state = 'failed' AND jobs.failure_dismissed_at IS NULL")
QUEUED = text("state = 'waiting'")
IN_LINE = text("state = 'waiting' AND held_at IS NULL")
HELD = text("state = 'waiting' AND held_at IS NOT NULL")

FILES_TO_DELETE = text("files_unwanted_at IS NOT NULL AND files_deleted_at IS NULL")
"""The deletion of its files was requested, and they still exist."""
LIVE_WITH_CHOICE = text(
    "environment_id IS NOT NULL AND state IN ('waiting', 'starting', 'running', 'stopping')"
)
"""The condition of a job that has not ended and names its environment."""
CONTINUES = text("continues_job_id IS NOT NULL")
LIVE_NOTEBOOK = text("kind = 'notebook' AND state IN ('waiting', 'starting', 'running', 'stopping')")
HAS_END = text("ended_at IS NOT NULL")
SCORED = text("headline_score IS NOT NULL")
STORED = text("storage_bytes > 0 AND files_deleted_at IS NULL")


def first_position(job_id: int, priority: int) -> int:
    """The position of a new job in its workspace's queue: by priority, then by id."""
    return job_id * POSITION_STEP - priority * PRIORITY_STEP


def job_shape(
    units: int,
    time_limit_seconds: int | None,
    dataset_id: int | None,
    sweep_id: int | None,
    environment_id: int | None = None,
) -> str:
    """The key of jobs that placement treats alike: units, class of time limit, dataset, sweep and environment. It sorts
    by units.

    The classes of time limits are powers of two: if one job of a class fits before a reservation, the others do too.
    """
    limit = time_limit_seconds.bit_length() if time_limit_seconds else "-"
    chosen = f":{environment_id}" if environment_id else ""
    return f"{units:05}:{limit}:{dataset_id or '-'}:{sweep_id or '-'}{chosen}"


def _shape_of_row(context: DefaultExecutionContext) -> str:
    row = context.get_current_parameters()  # type: ignore[no-untyped-call]
    ids = (row.get(name) for name in ("dataset_id", "sweep_id", "environment_id"))
    return job_shape(row["units"], row.get("time_limit_seconds"), *ids)


class Job(BaseRow):
    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("units > 0", name="units_positive"),
        Index("ix_jobs_live", "state", "id", sqlite_where=LIVE, postgresql_where=LIVE),
        Index(
            "ix_jobs_workspace_live", "workspace_id", "state", "id", sqlite_where=LIVE, postgresql_where=LIVE
        ),
        Index("ix_jobs_ended", "state", "id", sqlite_where=ENDED, postgresql_where=ENDED),
        # The first ones serve the queue: the queue of a workspace, its shapes, the queue of all, a person's jobs, and
        # held jobs. The last one finds the newest finished jobs of a kind, whose durations are typical.
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
        # This index gives the usual duration of a kind of job, from the newest finished ones.
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
        # This index finds the jobs that use an environment.
        Index(
            "ix_jobs_environment",
            "environment_id",
            "id",
            sqlite_where=LIVE_WITH_CHOICE,
            postgresql_where=LIVE_WITH_CHOICE,
        ),
        Index(
            "ix_jobs_continues_job_id", "continues_job_id", sqlite_where=CONTINUES, postgresql_where=CONTINUES
        ),
        Index("ix_jobs_files_unwanted", "id", sqlite_where=FILES_TO_DELETE, postgresql_where=FILES_TO_DELETE),
        Index("ix_jobs_name", "name", "id", postgresql_ops=BY_CHARACTER),
        Index("ix_jobs_storage", "storage_bytes", sqlite_where=STORED, postgresql_where=STORED),
        Index(
            "ix_jobs_failed_unseen",
            "user_id",
            "ended_at",
            sqlite_where=FAILED_UNSEEN,
            postgresql_where=FAILED_UNSEEN,
        ),
        # Orders of the runs table: the best ones, and those that ended last; each of all and of a workspace.
        Index("ix_jobs_score", "headline_score", "id", sqlite_where=SCORED, postgresql_where=SCORED),
        Index(
            "ix_jobs_workspace_score",
            "workspace_id",
            "headline_score",
            "id",
            sqlite_where=SCORED,
            postgresql_where=SCORED,
        ),
        Index(
            "ix_jobs_sweep_score",
            "sweep_id",
            "headline_score",
            "id",
            sqlite_where=SCORED,
            postgresql_where=SCORED,
        ),
        Index("ix_jobs_ended_at", "ended_at", "id", sqlite_where=HAS_END, postgresql_where=HAS_END),
        Index(
            "ix_jobs_workspace_ended_at",
            "workspace_id",
            "ended_at",
            "id",
            sqlite_where=HAS_END,
            postgresql_where=HAS_END,
        ),
        # A person has one notebook of a training at a time: two would write the same files.
        Index(
            "uq_jobs_live_notebook",
            "user_id",
            "training_id",
            unique=True,
            sqlite_where=LIVE_NOTEBOOK,
            postgresql_where=LIVE_NOTEBOOK,
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    training_id: Mapped[int] = mapped_column(ForeignKey("trainings.id"))
    kind: Mapped[JobKind] = mapped_column(
        enum_column(JobKind, is_checked=False), default=JobKind.PROGRAM, server_default=JobKind.PROGRAM.value
    )
    sweep_id: Mapped[int | None] = mapped_column(ForeignKey("sweeps.id"))
    sweep_number: Mapped[int | None]
    """The job's place in the sweep's list, from 1."""
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(60))
    state: Mapped[JobState] = mapped_column(enum_column(JobState), default=JobState.WAITING)
    desired: Mapped[DesiredState] = mapped_column(enum_column(DesiredState), default=DesiredState.RUN)
    fence: Mapped[int] = mapped_column(default=0)
    """The number of attempts. Every change by the scheduler or a task compares it."""
    units: Mapped[int]
    launcher: Mapped[Launcher] = mapped_column(enum_column(Launcher))
    command: Mapped[list[Any]]
    """The arguments of own code as typed: [script, argument, …]. Empty for a built-in model."""
    variables: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """The checked values of a built-in model's variables, by name."""
    code_version: Mapped[int] = mapped_column(default=0)
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    environment_id: Mapped[int | None]
    """The environment that was chosen. None: the default one, whichever that is when it starts. As for
    `continues_job_id`, a foreign key would add nothing.
    """
    priority: Mapped[int] = mapped_column(default=0)
    """A higher priority goes first within the workspace."""
    position: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """The job's place in the workspace's queue, the lowest first: `first_position` until somebody moves it."""
    shape: Mapped[str] = mapped_column(String(40), default=_shape_of_row, server_default="")
    """The `job_shape` of this job."""
    held_at: Mapped[datetime | None]
    """While it is set, the job does not start until the manager releases it, and no other job waits for it."""
    held_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    time_limit_seconds: Mapped[int | None]
    grace_seconds: Mapped[int] = mapped_column(default=30, server_default="30")
    """Seconds between SIGTERM and SIGKILL once the time limit has passed."""
    retries: Mapped[int] = mapped_column(default=0, server_default="0")
    """The number of attempts that may follow failed ones. Interruptions do not count."""
    retries_used: Mapped[int] = mapped_column(default=0, server_default="0")
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """The bytes for all units together. None: their share of the node."""
    resume_from: Mapped[str | None] = mapped_column(String(200))
    """The checkpoint with which the next attempt begins: `<attempt number>/<file name>`."""
    continues_job_id: Mapped[int | None]
    """The job with whose checkpoint it begins, while it has none of its own. Rows of jobs are never deleted, so that a
    foreign key, for which SQLite would copy the table, would add nothing.
    """
    continues_from: Mapped[str | None] = mapped_column(String(200))
    """The checkpoint as `<attempt number>/<file name>`."""
    submitted_at: Mapped[datetime]
    dispatched_at: Mapped[datetime | None]
    """The time at which the job was given units for the first time."""
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    waiting_code: Mapped[str | None] = mapped_column(String(60))
    waiting_data: Mapped[dict[str, Any] | None]
    exit_code: Mapped[int | None]
    end_code: Mapped[str | None] = mapped_column(String(60))
    """The reason of the end, as `exit.finished`, `exit.command_not_found`, `exit.stopped`."""
    end_data: Mapped[dict[str, Any] | None]
    cpu_seconds: Mapped[float | None]
    max_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    average_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    unit_seconds_used: Mapped[float | None]
    """The seconds in which its units worked, summed (GPU utilisation, CPU time on slots)."""
    results: Mapped[dict[str, Any] | None]
    """The measurements after the end, numbers only: {metric: [lowest, highest, last]}."""
    headline_metric: Mapped[str | None] = mapped_column(String(100))
    """The metric by which lists name the job, as `choose_headline_metric` decides: while it runs and at its end."""
    headline_value: Mapped[float | None]
    headline_is_best: Mapped[bool | None]
    """Whether the value is the best one so far; else it is the last one."""
    headline_score: Mapped[float | None]
    """The value, or its negative if lower is better: lists sort by it."""
    note: Mapped[str | None] = mapped_column(String(500))
    """The note that a person wrote about it."""
    stopped_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    storage_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """The bytes that the files of its ended attempts take on the disk, as their shims counted them."""
    files_unwanted_at: Mapped[datetime | None]
    """The time at which the deletion of its files was requested. The scheduler deletes them."""
    files_unwanted_by: Mapped[str | None] = mapped_column(String(64))
    """The name of the person who requested it."""
    files_deleted_at: Mapped[datetime | None]
    failure_dismissed_at: Mapped[datetime | None]
    """The time at which the user dismissed the failure of the job, which is no alert any more."""
    workspace: Mapped[Workspace] = relationship()
    training: Mapped[Training] = relationship()
    user: Mapped[User] = relationship(foreign_keys=user_id)
    dataset: Mapped[Dataset | None] = relationship()
    attempts: Mapped[list["Attempt"]] = relationship(back_populates="job", order_by="Attempt.number")
    events: Mapped[list["JobEvent"]] = relationship(order_by="JobEvent.id")

    @property
    def headline(self) -> HeadlineMetric | None:
        return headline_of(
            self.headline_metric, self.headline_value, self.headline_is_best, self.headline_score
        )


def headline_of(
    metric: str | None, value: float | None, is_best: bool | None, score: float | None
) -> HeadlineMetric | None:
    """The headline metric of a row's columns."""
    if metric is None or value is None or score is None:
        return None
    # The score of 0 has no sign.
    is_low = score != value if value else is_lower_better(metric)
    return HeadlineMetric(metric, value, bool(is_best), is_low)


def headline_columns(headline: HeadlineMetric) -> dict[str, Any]:
    return {
        "headline_metric": headline.metric,
        "headline_value": headline.value,
        "headline_is_best": headline.is_best,
        "headline_score": headline.score,
    }


class JobTag(BaseRow):
    """A word by which people find jobs again."""

    __tablename__ = "job_tags"
    __table_args__ = (Index(None, "job_id"),)

    tag: Mapped[str] = mapped_column(String(30), primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)


class SavedView(BaseRow):
    """Search, order and filters of the list of jobs that a person keeps under a name."""

    __tablename__ = "saved_views"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(40))
    query: Mapped[str] = mapped_column(String(500))
    """The checked query parameters of the address, as they follow the question mark."""
    created_at: Mapped[datetime]


class Attempt(BaseRow):
    """One attempt. The partial unique index forbids two live attempts of one job."""

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
        # Accounting reads what ended in a month.
        Index(None, "ended_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"))
    number: Mapped[int]
    """The attempt's number, which is also the fence under which it may change the job."""
    state: Mapped[AttemptState] = mapped_column(enum_column(AttemptState), default=AttemptState.PLACED)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id"))
    """The node on which it runs. For a gang it is the first node; the allocations name the others."""
    environment_id: Mapped[int | None]
    """The environment in which its program runs, written before it starts. None if none of ours is known."""
    handle: Mapped[dict[str, Any] | None]
    """The data with which the executor finds it again: boot id, pid and start ticks of the shim."""
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    resumed_from: Mapped[str | None] = mapped_column(String(200))
    """The checkpoint with which it began. None: it began without one."""
    progress: Mapped[float | None]
    """The share of its work that is done, 0 to 1, as its program reports it."""
    expected_end_at: Mapped[datetime | None]
    """The expected end at the current pace. The next two columns are the ends at the fastest and the slowest pace."""
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
    """The reason why the scheduler ends it although nobody asked for it."""
    stop_cause_data: Mapped[dict[str, Any] | None]
    job: Mapped[Job] = relationship(back_populates="attempts")
    node: Mapped[Node] = relationship()
    allocations: Mapped[list[Allocation]] = relationship(order_by="Allocation.id")


class Sweep(BaseRow):
    """Many jobs made at once from several values per parameter. The jobs refer to it by `sweep_id`."""

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
    """The request: {"kind": "grid"|"list", "values": {parameter: [value, …]}, "command": [script, argument, …]}."""
    jobs: Mapped[int]
    """The number of its jobs."""
    most_at_once: Mapped[int | None]
    """The largest number of its jobs that run at the same time. None: no limit."""
    stop_on_trouble: Mapped[bool] = mapped_column(default=False)
    """Whether the first crash or NaN stops the jobs that have not ended."""
    submitted_at: Mapped[datetime]
    stopped_at: Mapped[datetime | None]
    stop_code: Mapped[str | None] = mapped_column(String(60))
    """The reason of the stop: `sweep.crash`, `sweep.nan`, `sweep.stopped_by`."""
    stop_data: Mapped[dict[str, Any] | None]
    stopping: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Set when a job's end was recorded and the scheduler still has to stop the others."""
    workspace: Mapped[Workspace] = relationship()
    training: Mapped[Training] = relationship()
    user: Mapped[User] = relationship()


class JobEvent(BaseRow):
    """One line of a job's history: a new state, a new waiting reason, or a request."""

    __tablename__ = "job_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), index=True)
    at: Mapped[datetime]
    state: Mapped[str] = mapped_column(String(20))
    """The job's state from this moment on."""
    code: Mapped[str] = mapped_column(String(60))
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)


class Notebook(BaseRow):
    """The JupyterLab of one job: its address and its use."""

    __tablename__ = "notebooks"

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    token: Mapped[str] = mapped_column(String(64))
    """The token that nginx sends to Jupyter. No browser ever gets it from us."""
    address: Mapped[str | None] = mapped_column(String(200))
    """Host and port of a notebook on another node. None: it listens on a socket of this machine."""
    ready_attempt: Mapped[int | None]
    """The number of the newest attempt whose Jupyter has answered."""
    used_at: Mapped[datetime | None]
    """The time at which a kernel last worked, a terminal last wrote, or a file was last saved."""
    is_busy: Mapped[bool] = mapped_column(default=False)
    """A kernel worked when the server was last asked."""
    warned_at: Mapped[datetime | None]
    """The time at which the person was told of the coming stop. None: the notebook is in use."""
    stops_at: Mapped[datetime | None]
    """The time at which the notebook is stopped if nobody uses it until then."""
    job: Mapped[Job] = relationship()


class NotebookEntry(BaseRow):
    """The right of one browser to open one notebook: first a ticket for a minute, then a cookie.

    It lasts as long as the portal session in which it was asked for.
    """

    __tablename__ = "notebook_entries"

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    session_hash: Mapped[str] = mapped_column(String(64))
    """The `token_hash` of the portal session."""
    ticket_hash: Mapped[str | None] = mapped_column(String(64), unique=True)
    """None once the ticket was used."""
    ticket_expires_at: Mapped[datetime]
    cookie_hash: Mapped[str | None] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
