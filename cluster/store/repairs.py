"""Runs of repairs: who asked for which one, why, what each task did where, and what the checks decided."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.repair_runs import Verdict
from cluster.store.base import Row, by_value
from cluster.store.operations import Operation
from cluster.store.users import User

UNDER_WAY = text("ended_at IS NULL")


class RepairRun(Row):
    """One click on a repair. Its target is locked until `ended_at` is written."""

    __tablename__ = "repair_runs"
    __table_args__ = (
        Index(
            "one_repair_per_target", "target", unique=True, sqlite_where=UNDER_WAY, postgresql_where=UNDER_WAY
        ),
        Index("ix_repair_runs_by_name", "name", "id"),
        Index("ix_repair_runs_record", "record", unique=True),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60))
    """Stem of its two files in the catalogue."""
    target: Mapped[str] = mapped_column(String(60))
    """`master`, or `node-<id>`."""
    host: Mapped[str] = mapped_column(String(255))
    """What people call the target; also its name in the inventory."""
    digest: Mapped[str] = mapped_column(String(64))
    """Of both files as the forecast showed them: the task worker runs nothing else."""
    reason: Mapped[str] = mapped_column(String(500))
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    asked_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    console_user: Mapped[str | None] = mapped_column(String(64))
    """Who was signed in at the master, where the console asked; `asked_by` is the installation itself then."""
    record: Mapped[str | None] = mapped_column(String(32))
    """Of a run with the database away: the name of the file that the console left, read in once."""
    asked_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    """When the playbook began: what is older than this does not count in the verification."""
    ended_at: Mapped[datetime | None]
    cancel_asked_at: Mapped[datetime | None]
    is_forced: Mapped[bool] = mapped_column(default=False)
    tasks: Mapped[list[Any]] = mapped_column(default=list)
    """[{name, hosts: {host: cell}, lines: {host: line}, seconds, output: {host: text}}]."""
    before: Mapped[list[Any]] = mapped_column(default=list)
    """The checks before anything was changed, [{is_ok, code, data}]."""
    checks: Mapped[list[Any]] = mapped_column(default=list)
    """The checks afterwards: they decide."""
    listed: Mapped[list[Any]] = mapped_column(default=list)
    """[[path, bytes]] that the forecast showed for deletion: nothing else may go."""
    verdict: Mapped[Verdict | None] = mapped_column(by_value(Verdict))
    playbook_rc: Mapped[int | None]
    asker: Mapped[User] = relationship()
    operation: Mapped[Operation | None] = relationship()

    @property
    def who(self) -> str:
        return self.console_user or self.asker.name

    @property
    def number(self) -> str:
        """Names the run's folder: without a row it had only its record's."""
        return self.record or str(self.id)
