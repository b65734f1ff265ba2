"""Rows of repair runs and of the locks on their targets."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, false, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.store.base import BaseRow, enum_column
from cluster.store.operations import Operation
from cluster.store.users import User

LOCKED = text("released_at IS NULL")


class RepairLock(BaseRow):
    """A target that belongs to a run until the run has ended. No other repair begins there."""

    __tablename__ = "repair_locks"
    __table_args__ = (
        Index("one_repair_per_target", "target", unique=True, sqlite_where=LOCKED, postgresql_where=LOCKED),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("repair_runs.id"), index=True)
    target: Mapped[str] = mapped_column(String(60))
    """`master`, or `node-<id>`."""
    released_at: Mapped[datetime | None]


class RepairRun(BaseRow):
    """One execution of a repair. Its targets are locked until `ended_at` is written."""

    __tablename__ = "repair_runs"
    __table_args__ = (
        Index("ix_repair_runs_by_name", "name", "id"),
        Index("ix_repair_runs_offline_record", "offline_record", unique=True),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60))
    """The stem of its two files in the catalogue."""
    target: Mapped[str] = mapped_column(String(60))
    """The first of `targets`."""
    host: Mapped[str] = mapped_column(String(255))
    """The targets by the names that people use, all in one line."""
    targets: Mapped[list[Any]] = mapped_column(default=list, server_default=text("'[]'"))
    """[[target, name in the inventory]]. If it is empty, `target` and `host` are the only one."""
    is_dry_run: Mapped[bool] = mapped_column(default=False, server_default=false())
    """The run is in Ansible's check mode, which reports changes and makes none."""
    digest: Mapped[str] = mapped_column(String(64))
    """The digest of both files as the preview showed them. The task worker runs no others."""
    reason: Mapped[str] = mapped_column(String(500))
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    requested_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    console_user: Mapped[str | None] = mapped_column(String(64))
    """The user who was signed in at the master, for a run of the console. `requested_by` is then the installation
    itself.
    """
    offline_record: Mapped[str | None] = mapped_column(String(32))
    """The name of the console's file for a run without the database, which is imported once."""
    requested_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    """The time at which the playbook began. The verification ignores what is older."""
    ended_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    is_forced: Mapped[bool] = mapped_column(default=False)
    tasks: Mapped[list[Any]] = mapped_column(default=list)
    """[{name, hosts: {host: cell}, lines: {host: line}, seconds, output: {host: text}}]."""
    before: Mapped[list[Any]] = mapped_column(default=list)
    """The checks before anything was changed, [{is_ok, code, data}]."""
    checks: Mapped[list[Any]] = mapped_column(default=list)
    """The checks afterwards, which decide the verdict."""
    reclaimable_paths: Mapped[list[Any]] = mapped_column(default=list)
    """[[path, bytes]] that the preview listed for deletion. Nothing else may be deleted."""
    verdict: Mapped[RepairVerdict | None] = mapped_column(enum_column(RepairVerdict))
    playbook_rc: Mapped[int | None]
    requester: Mapped[User] = relationship()
    operation: Mapped[Operation | None] = relationship()

    @property
    def hosts(self) -> list[str]:
        return [str(name) for _, name in self.targets or []] or [self.host]

    @property
    def locks(self) -> list[str]:
        """The names of all targets, always in the same order."""
        return sorted(str(target) for target, _ in self.targets or [[self.target, ""]])

    @property
    def who(self) -> str:
        return self.console_user or self.requester.name

    @property
    def number(self) -> str:
        """The name of the run's folder. A run that was imported from a record keeps the record's name."""
        return self.offline_record or str(self.id)
