"""Nodes, their units, which attempt holds which unit, and the tokens by which agents prove their node."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    exists,
    false,
    func,
    select,
    text,
)
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship, validates

from cluster.domain.kubernetes.suggested_repairs import first_certificate_to_end
from cluster.domain.nodes.node_facts import disk_used_share
from cluster.domain.states import UnitKind, UnitState
from cluster.store.base import BaseRow, enum_column
from cluster.store.users import User

BROKEN = text("state = 'broken'")
IS_BROKEN = text("units.state = 'broken'")
"""The condition for queries. SQLite uses a partial index only if the query repeats the index's condition."""


class Node(BaseRow):
    __tablename__ = "nodes"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    boot_id: Mapped[str] = mapped_column(String(64), default="")
    has_executor: Mapped[bool] = mapped_column(default=True)
    heartbeat_at: Mapped[datetime | None]
    facts: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """The facts from the agent: system, cpus, memory_bytes, disk_bytes, disk_free_bytes, driver, interfaces."""
    disk_used_share: Mapped[float | None]
    """The used share of the disk in `facts`, 0 to 1, so that a query finds full disks without
    the facts of all nodes.
    """
    certificate_ends_at: Mapped[datetime | None]
    """The time at which the first certificate in `facts` ends."""
    fabric: Mapped[str | None] = mapped_column(String(64))
    """Nodes with the same value reach each other over one InfiniBand fabric."""
    simulated: Mapped[bool] = mapped_column(default=False, server_default=false())
    draining_since: Mapped[datetime | None]
    """While it is set, no job starts on the node, and running jobs go on."""
    drained_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    drain_reason: Mapped[str] = mapped_column(String(200), default="", server_default="")
    lost_at: Mapped[datetime | None]
    """Set when the node was silent for longer than the grace time and its attempts were fenced. It is cleared once the
    node answers again and none of these attempts runs there any more.
    """
    booted_at: Mapped[datetime | None]
    """The time at which the agent reported another boot id. Every attempt that was placed there earlier has ended."""
    forgotten_at: Mapped[datetime | None]
    """When an administrator had it forgotten. The row stays for the history of its jobs; everything that reads
    the nodes of the cluster leaves it out. An agent that reports under its name brings it back.
    """
    created_at: Mapped[datetime]
    units: Mapped[list["Unit"]] = relationship(back_populates="node", order_by="Unit.position")
    drainer: Mapped[User | None] = relationship(foreign_keys=[drained_by])

    @validates("facts")
    def _derive_columns(self, _key: str, facts: dict[str, Any]) -> dict[str, Any]:
        certificate = first_certificate_to_end(facts)
        self.disk_used_share = disk_used_share(facts)
        self.certificate_ends_at = certificate[0] if certificate else None
        return facts


IS_NODE_KNOWN = Node.forgotten_at.is_(None)
"""The condition of every query that reads the nodes of the cluster."""


class Unit(BaseRow):
    """A GPU, a share of one, or a CPU slot. GPUs are identified by UUID, never by index."""

    __tablename__ = "units"
    __table_args__ = (
        UniqueConstraint("node_id", "identity", "slice"),
        Index("ix_units_broken", "node_id", sqlite_where=BROKEN, postgresql_where=BROKEN),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id"))
    identity: Mapped[str] = mapped_column(String(100))
    """The GPU's UUID, or `cpu-0`, `cpu-1` …"""
    slice: Mapped[int] = mapped_column(default=0)
    position: Mapped[int] = mapped_column(default=0)
    kind: Mapped[UnitKind] = mapped_column(enum_column(UnitKind))
    state: Mapped[UnitState] = mapped_column(enum_column(UnitState), default=UnitState.OK)
    model: Mapped[str] = mapped_column(String(100), default="")
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    island: Mapped[str | None] = mapped_column(String(64))
    """Units of a node with the same value reach each other over one NVLink or PCIe switch."""
    simulated: Mapped[bool] = mapped_column(default=False)
    node: Mapped[Node] = relationship(back_populates="units")


HAS_REAL_GPUS: ColumnElement[bool] = IS_NODE_KNOWN & exists().where(
    Unit.node_id == Node.id,
    Unit.kind == UnitKind.GPU,
    Unit.state != UnitState.GONE,
    Unit.simulated.is_(False),
)
"""The condition of nodes that have real GPUs, not only simulated ones."""


class Allocation(BaseRow):
    """A unit that an attempt holds. The partial unique index forbids two live allocations of one unit."""

    __tablename__ = "allocations"
    __table_args__ = (
        Index(
            "uq_allocations_live_unit",
            "unit_id",
            unique=True,
            sqlite_where=text("ended_at IS NULL"),
            postgresql_where=text("ended_at IS NULL"),
        ),
        # Accounting reads who held units in a month.
        Index(None, "ended_at", "begun_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    unit_id: Mapped[int] = mapped_column(ForeignKey("units.id"))
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempts.id"), index=True)
    begun_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    unit: Mapped[Unit] = relationship()


def count_offered_units(session: Session) -> int:
    """The units that terms may hold: working units on nodes that can run jobs, silent nodes included."""
    query = (
        select(func.count(Unit.id))
        .join(Node, Node.id == Unit.node_id)
        .where(Unit.state == UnitState.OK, Node.has_executor)
    )
    return session.scalar(query) or 0


UNIT_COLUMNS = Unit.__table__.c
NODE_COLUMNS = Node.__table__.c
ANY_GPU = (
    select(UNIT_COLUMNS.id)
    .join(Node.__table__, NODE_COLUMNS.id == UNIT_COLUMNS.node_id)
    .where(UNIT_COLUMNS.kind == UnitKind.GPU, UNIT_COLUMNS.state != UnitState.GONE, NODE_COLUMNS.has_executor)
    .limit(1)
)
"""The statement is made once, because nearly every page and answer uses it."""


def offered_unit_kind(session: Session | Connection) -> UnitKind:
    """The kind of units that jobs may have. Before a unit was reported it is the CPU slot."""
    return UnitKind.CPU_SLOT if session.scalar(ANY_GPU) is None else UnitKind.GPU


class NodeToken(BaseRow):
    """A token `gcn_<id>_<secret>`. It is shown once and only its hash is stored. A node has one valid token."""

    __tablename__ = "node_tokens"
    __table_args__ = (
        Index(
            "uq_node_tokens_live_name",
            "name",
            unique=True,
            sqlite_where=text("revoked_at IS NULL"),
            postgresql_where=text("revoked_at IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64))
    """The node's name. The name that an agent reports is not used."""
    has_executor: Mapped[bool] = mapped_column(default=False)
    """Whether jobs can be started there."""
    secret_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
