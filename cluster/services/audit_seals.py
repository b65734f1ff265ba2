"""Seals the audit in batches, so that no commit waits for a chain, and finds the place where somebody changed it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

import structlog
from sqlalchemy import Connection, Row, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from cluster.domain.audit import (
    Digests,
    Found,
    Seal,
    check_entries,
    check_seal,
    key_id_of,
    key_of,
    make_mac,
)
from cluster.services.audit_epochs import OldEpochs, read_epochs
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, AuditSeal
from cluster.store.leases import Fact

log = structlog.get_logger()

SETTLED_AFTER = timedelta(seconds=60)
"""On PostgreSQL a later entry may be committed before an earlier one; by then both have been."""
BATCH = 1000
DECODER = json.JSONDecoder()
LONG = len("2026-11-20 18:00:00.000001")
CHECKED = "audit_checked"
NAMES = tuple(column.key for column in AuditEntry.__table__.columns)
AS_TEXT = {
    "postgresql": {
        "at": """to_char("at" AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')""",
        "data": "data::text",
    }
}
"""What a driver would take long to make, and we to take apart again; SQLite keeps both as text."""
SEALED = "audit_sealed"
"""How many entries all seals up to the last one cover: nobody has to add them up."""


@dataclass(frozen=True)
class Standing:
    """How far the audit is sealed, and how the last check of it ended."""

    entries: int
    sealed: int
    seals: int
    checked_at: datetime | None
    checked: int
    """How many entries that check covered: what is not sealed cannot be checked."""
    found: Found | None


@dataclass(frozen=True)
class Anchor:
    """A seal that was written down outside of the database: `where` names the place."""

    where: str
    number: int
    mac: str
    made_at: datetime | None = None
    """When it was written down."""


def say_nothing(seal: AuditSeal) -> None:
    """Who seals beside the scheduler writes nothing down."""


def seal_entries(
    cluster: Cluster,
    tell: Callable[[AuditSeal], None] = say_nothing,
    settled_after: timedelta = SETTLED_AFTER,
) -> int:
    """Seals what is settled, a batch per transaction; how many entries. A second sealer is harmless.

    `tell` hears of each seal once it is committed. `settled_after` is shorter only where nobody else writes.
    """
    key, sealed = key_of(cluster.settings.seal_secret), 0
    while True:
        try:
            seal = seal_batch(cluster, key, settled_after)
        except IntegrityError:
            log.info("somebody else has sealed meanwhile")
            return sealed
        if seal is None:
            return sealed
        tell(seal)
        sealed += seal.entries
        if seal.entries < BATCH:
            return sealed


def seal_batch(cluster: Cluster, key: bytes, settled_after: timedelta) -> AuditSeal | None:
    now = cluster.clock()
    with cluster.store.read() as session:
        last = last_seal(session)
        before = count_sealed(session, last)
        following = select(AuditEntry).where(AuditEntry.id > (last.last_id if last else 0))
        found = session.scalars(following.order_by(AuditEntry.id).limit(BATCH)).all()
    # Only up to the first that may still have an unseen neighbour: a seal covers all numbers up to its last.
    entries = list(takewhile(lambda entry: is_settled(entry, now, settled_after), found))
    if not entries:
        return None
    digests = Digests(key)
    lines = [(entry.id, digests.of(as_data(entry))) for entry in entries]
    previous = last.mac if last else ""
    seal = AuditSeal(
        id=last.id + 1 if last else 1,
        at=now,
        last_id=entries[-1].id,
        entries=len(entries),
        key_id=key_id_of(key),
        lines=[list(line) for line in lines],
        previous=previous,
        mac=make_mac(key, previous, lines),
    )
    with cluster.store.write() as session:
        session.add(seal)
        session.merge(Fact(name=SEALED, value={"seal": seal.id, "entries": before + seal.entries}))
    return seal


def count_sealed(session: Session, last: AuditSeal | None) -> int:
    """Added up only where nobody has written it down with the last seal."""
    if last is None:
        return 0
    known = session.get(Fact, SEALED)
    if known is not None and known.value.get("seal") == last.id:
        return int(known.value["entries"])
    return session.scalar(select(func.sum(AuditSeal.entries))) or 0


def is_settled(entry: AuditEntry, now: datetime, settled_after: timedelta) -> bool:
    """An entry from the future was written before the clock was set back."""
    return abs(now - entry.at) > settled_after


def last_seal(session: Session) -> AuditSeal | None:
    return session.scalar(select(AuditSeal).order_by(AuditSeal.id.desc()).limit(1))


def as_data(entry: AuditEntry) -> dict[str, Any]:
    """Every column, as the seal covers it."""
    values = {column.key: getattr(entry, column.key) for column in AuditEntry.__table__.columns}
    return values | {"at": entry.at.isoformat()}


def check_audit(cluster: Cluster, anchors: list[Anchor]) -> Standing:
    """Reads all of it; the first place that is wrong is kept as a fact of the installation."""
    covered = read_standing(cluster).sealed
    found = first_wrong_place(cluster, anchors)
    value = {"at": cluster.clock().isoformat(), "sealed": covered, "code": found.code if found else None}
    with cluster.store.write() as session:
        session.merge(Fact(name=CHECKED, value=value | {"data": dict(found.data) if found else {}}))
    return read_standing(cluster)


def first_wrong_place(cluster: Cluster, anchors: list[Anchor]) -> Found | None:
    """None where all of it is as it was sealed, and every seal that was written down outside is there."""
    key = key_of(cluster.settings.seal_secret)
    old = OldEpochs(read_epochs(cluster, key), key)
    digests, before = Digests(key), None
    known: dict[int, str] = {}
    for seal, entries in read_chain(cluster):
        wrong = None
        if not old.is_old(seal):
            wrong = check_seal(key, seal, before) or check_entries(digests, seal, entries)
        wrong = wrong or old.hear(seal, before, entries)
        if wrong is not None:
            return wrong
        known[seal.number] = seal.mac
        before = seal
    lost = [anchor for anchor in anchors if known.get(anchor.number) != anchor.mac]
    cut = [anchor for anchor in lost if not old.excuses(anchor.where, anchor.made_at)]
    return Found("audit.cut", {"where": cut[0].where, "seal": cut[0].number}) if cut else None


def read_chain(cluster: Cluster) -> Iterator[tuple[Seal, "Entries"]]:
    """Each seal with all entries that stand between the one before and its own end.

    Each in a transaction of its own, over one connection.
    """
    number = last_id = 0
    with cluster.store.look() as connection:
        while True:
            following = select(AuditSeal.__table__).where(AuditSeal.id > number)
            row = connection.execute(following.order_by(AuditSeal.id).limit(1)).first()
            entries = Entries(read_range(connection, last_id, row.last_id) if row is not None else [])
            connection.rollback()
            if row is None:
                return
            lines = tuple((line[0], line[1]) for line in row.lines)
            yield Seal(row.id, row.key_id, lines, row.previous, row.mac), entries
            number, last_id = row.id, row.last_id


def read_range(connection: Connection, after: int, until: int) -> Sequence[Row[Any]]:
    """By the driver alone: a million are read each night, and types cost most of it."""
    plain = AS_TEXT.get(connection.dialect.name, {})
    columns = ", ".join(plain.get(name, name) for name in NAMES)
    where = f"id > {int(after)} AND id <= {int(until)} ORDER BY id"
    return connection.exec_driver_sql(f"SELECT {columns} FROM audit_entries WHERE {where}").all()


@dataclass(frozen=True)
class Entries:
    """As `as_data` has them, each made when it is looked at: all at once they would keep the collector busy."""

    rows: Sequence[Row[Any]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            entry = dict(zip(NAMES, row, strict=True))
            # Whoever edits SQLite's file may put in anything.
            entry["at"], entry["data"] = as_moment(str(entry["at"])), parse(str(entry["data"]))
            yield entry


def parse(text: str) -> Any:
    """As `json.loads`, which takes three times as long over a short text; what it is not stays the text it is."""
    try:
        value, end = DECODER.raw_decode(text)
        return value if end == len(text) else json.loads(text)
    except ValueError:
        return text


def as_moment(text: str) -> str:
    """ISO text in UTC, of the database's text, which has no offset; what is no moment stays as it is."""
    if len(text) == LONG and text[10] == " " and not text.endswith(".000000"):
        return f"{text[:10]}T{text[11:]}+00:00"
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).isoformat()
    except ValueError:
        return text


def read_standing(cluster: Cluster) -> Standing:
    with cluster.store.read() as session:
        last = last_seal(session)
        sealed = count_sealed(session, last)
        later = select(func.count(AuditEntry.id)).where(AuditEntry.id > (last.last_id if last else 0))
        open_ = session.scalar(later) or 0
        checked = session.get(Fact, CHECKED)
    value = checked.value if checked else {}
    return Standing(
        entries=sealed + open_,
        sealed=sealed,
        seals=last.id if last else 0,
        checked_at=datetime.fromisoformat(value["at"]) if value else None,
        checked=value.get("sealed", 0),
        found=Found(value["code"], value["data"]) if value.get("code") else None,
    )


def read_anchor(cluster: Cluster) -> tuple[int, str] | None:
    """The newest seal, for whoever writes it down outside."""
    with cluster.store.read() as session:
        last = last_seal(session)
    return (last.id, last.mac) if last else None
