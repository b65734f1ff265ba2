"""Workspaces: units that are held for a term, and the people who work there."""

from datetime import date, datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, String, or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship

from cluster.domain.workspace_terms import Term
from cluster.store.base import BaseRow
from cluster.store.users import User

COLOURS = 6


class Workspace(BaseRow):
    __tablename__ = "workspaces"
    __table_args__ = (
        CheckConstraint("units >= 0", name="units_not_negative"),
        CheckConstraint("ends_on >= starts_on", name="term_in_order"),
        CheckConstraint("colour BETWEEN 1 AND 6", name="colour_in_palette"),
        {"sqlite_autoincrement": True},  # An id is also a numeric gid, so it is never given out twice.
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20), unique=True)
    description: Mapped[str] = mapped_column(String(500), default="")
    starts_on: Mapped[date]
    ends_on: Mapped[date]
    """The last day, inclusive, in the installation's time zone."""
    ended_at: Mapped[datetime | None]
    """The time at which a person or the first training ended it before its last day."""
    units: Mapped[int]
    """The quota: how many units are held for the term."""
    manager_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    colour: Mapped[int]
    created_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(default=1)
    last_turn_at: Mapped[datetime | None]
    """The time at which a job of the workspace was last given units. Workspaces with an older turn go first."""
    last_turn_attempt_id: Mapped[int] = mapped_column(default=0, server_default="0")
    """The id of that attempt, which orders two turns of the same moment."""
    storage_limit_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """The limit of stored bytes. None: only the disk limits them."""
    storage_used_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """The last measurement, plus what uploads have added since. None before the first measurement."""
    storage_measured_at: Mapped[datetime | None]
    manager: Mapped[User] = relationship()
    members: Mapped[list["User"]] = relationship(secondary="workspace_members", order_by="User.name")

    __mapper_args__ = {"version_id_col": version}


class WorkspaceMember(BaseRow):
    """A member of a workspace. The manager is always a member too."""

    __tablename__ = "workspace_members"

    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True, index=True)


def list_held_terms(session: Session, now: datetime, besides: int | None = None) -> list[Term]:
    """The terms that hold units: those of all workspaces that nobody has ended, except `besides`."""
    query = select(Workspace.starts_on, Workspace.ends_on, Workspace.units).where(
        or_(Workspace.ended_at.is_(None), Workspace.ended_at > now)
    )
    if besides is not None:
        query = query.where(Workspace.id != besides)
    return [Term(*row) for row in session.execute(query)]


def choose_colour(session: Session) -> int:
    """A colour that differs from those of workspaces at the same time."""
    last = session.scalar(select(Workspace.colour).order_by(Workspace.id.desc()).limit(1))
    return (last or 0) % COLOURS + 1
