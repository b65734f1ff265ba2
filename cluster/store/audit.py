"""The audit table, which is append-only: triggers enforce it."""

from datetime import datetime
from typing import Any

from sqlalchemy import DDL, Index, String, event, text
from sqlalchemy.orm import Mapped, Session, mapped_column

from cluster.domain.people.actor import Actor
from cluster.store.base import BaseRow

NOT_DONE = text("outcome <> 'done'")
IS_NOT_DONE = text("audit_entries.outcome <> 'done'")
"""The condition for queries. SQLite uses a partial index only if the query repeats the index's condition."""


class AuditEntry(BaseRow):
    """One entry of the access log: the actor, the action, its subject, the address and the outcome. It never contains
    a secret.
    """

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index(None, "at"),
        # The access log shows the newest entries of a kind, of a person, or with an outcome other than `done`.
        Index(None, "object_kind", "id"),
        Index(None, "actor_name", "id"),
        Index("ix_audit_entries_not_done", "outcome", "id", sqlite_where=NOT_DONE, postgresql_where=NOT_DONE),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    actor_id: Mapped[int | None]
    """The column has no foreign key: the entry stays as it was written, whatever happens to the user."""
    actor_name: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    request_id: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(60))
    """A noun and a verb: `job.submitted`, `user.disabled`, `session.refused`."""
    object_kind: Mapped[str] = mapped_column(String(30))
    object_id: Mapped[int | None]
    outcome: Mapped[str] = mapped_column(String(20), default="done")
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)


class AuditSeal(BaseRow):
    """Seals all entries between the seal before and `last_id`; see cluster.domain.audit_seals."""

    __tablename__ = "audit_seals"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """The seals are numbered 1, 2, 3 …; a gap shows that a seal was deleted."""
    at: Mapped[datetime]
    last_id: Mapped[int] = mapped_column(unique=True)
    entries: Mapped[int]
    key_id: Mapped[str] = mapped_column(String(16))
    digests: Mapped[list[Any]]
    """[[id, digest], …] of its entries."""
    previous: Mapped[str] = mapped_column(String(64))
    mac: Mapped[str] = mapped_column(String(64))


# On SQLite, REPLACE deletes rows without a delete trigger, so there is a third trigger.
SQLITE_TRIGGERS = (
    """CREATE TRIGGER audit_entries_no_update BEFORE UPDATE ON audit_entries
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
    """CREATE TRIGGER audit_entries_no_delete BEFORE DELETE ON audit_entries
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
    """CREATE TRIGGER audit_entries_no_replace BEFORE INSERT ON audit_entries
WHEN EXISTS (SELECT 1 FROM audit_entries WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
)
POSTGRESQL_TRIGGERS = (
    """CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'audit entries are append-only'; END $$""",
    """CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()""",
)
SQLITE_SEAL_TRIGGERS = tuple(text.replace("audit_entries", "audit_seals") for text in SQLITE_TRIGGERS)
POSTGRESQL_SEAL_TRIGGERS = (POSTGRESQL_TRIGGERS[1].replace("audit_entries", "audit_seals"),)
for table, dialect, statements in (
    (AuditEntry.__table__, "sqlite", SQLITE_TRIGGERS),
    (AuditEntry.__table__, "postgresql", POSTGRESQL_TRIGGERS),
    (AuditSeal.__table__, "sqlite", SQLITE_SEAL_TRIGGERS),
    (AuditSeal.__table__, "postgresql", POSTGRESQL_SEAL_TRIGGERS),
):
    for statement in statements:
        ddl = DDL(statement)  # type: ignore[no-untyped-call]
        event.listen(table, "after_create", ddl.execute_if(dialect=dialect))


def audit_entry_columns(
    at: datetime,
    actor: Actor,
    action: str,
    object_id: int | None,
    data: dict[str, Any],
    outcome: str = "done",
    object_kind: str = "",
) -> dict[str, Any]:
    """The columns of an entry. The kind of the object is the first word of the action unless another one is given."""
    return {
        "at": at,
        "actor_id": actor.user_id or None,
        "actor_name": actor.name[:64],
        "address": actor.address[:64],
        "request_id": actor.request_id[:64],
        "action": action,
        "object_kind": object_kind or action.split(".")[0],
        "object_id": object_id,
        "outcome": outcome,
        "data": data,
    }


def add_audit_entry(
    session: Session,
    at: datetime,
    actor: Actor,
    action: str,
    object_id: int | None,
    outcome: str = "done",
    object_kind: str = "",
    **data: Any,
) -> None:
    session.add(AuditEntry(**audit_entry_columns(at, actor, action, object_id, data, outcome, object_kind)))
