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
    """A target that belongs to a run until it has ended; nobody else's repair begins there."""

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
    """One click on a repair. Its targets are held until `ended_at` is written."""

    __tablename__ = "repair_runs"
    __table_args__ = (
        Index("ix_repair_runs_by_name", "name", "id"),
        Index("ix_repair_runs_offline_record", "offline_record", unique=True),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60))
    """Stem of its two files in the catalogue."""
    target: Mapped[str] = mapped_column(String(60))
    """The first of `targets`."""
    host: Mapped[str] = mapped_column(String(255))
    """What people call the targets, all in one line."""
    targets: Mapped[list[Any]] = mapped_column(default=list, server_default=text("'[]'"))
    """[[target, name in the inventory]]; empty: `target` and `host` say it."""
    is_dry_run: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Ansible's check mode: it says what it would change, and changes nothing."""
    digest: Mapped[str] = mapped_column(String(64))
    """Of both files as the forecast showed them: the task worker runs nothing else."""
    reason: Mapped[str] = mapped_column(String(500))
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    requested_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    console_user: Mapped[str | None] = mapped_column(String(64))
    """Who was signed in at the master, where the console asked; `requested_by` is the installation itself then."""
    offline_record: Mapped[str | None] = mapped_column(String(32))
    """Of a run with the database away: the name of the file that the console left, read in once."""
    requested_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    """When the playbook began: what is older than this does not count in the verification."""
    ended_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    is_forced: Mapped[bool] = mapped_column(default=False)
    tasks: Mapped[list[Any]] = mapped_column(default=list)
    """[{name, hosts: {host: cell}, lines: {host: line}, seconds, output: {host: text}}]."""
    before: Mapped[list[Any]] = mapped_column(default=list)
    """The checks before anything was changed, [{is_ok, code, data}]."""
    checks: Mapped[list[Any]] = mapped_column(default=list)
    """The checks afterwards: they decide."""
    reclaimable_paths: Mapped[list[Any]] = mapped_column(default=list)
    """[[path, bytes]] that the forecast showed for deletion: nothing else may go."""
    verdict: Mapped[RepairVerdict | None] = mapped_column(enum_column(RepairVerdict))
    playbook_rc: Mapped[int | None]
    requester: Mapped[User] = relationship()
    operation: Mapped[Operation | None] = relationship()

    @property
    def hosts(self) -> list[str]:
        return [str(name) for _, name in self.targets or []] or [self.host]

    @property
    def locks(self) -> list[str]:
        """Names of all targets, in one order for everybody."""
        return sorted(str(target) for target, _ in self.targets or [[self.target, ""]])

    @property
    def who(self) -> str:
        return self.console_user or self.requester.name

    @property
    def number(self) -> str:
        """Names the run's folder: without a row it had only its record's."""
        return self.offline_record or str(self.id)
