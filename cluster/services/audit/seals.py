"""Seals audit entries in batches, so that no commit waits for the chain, and finds the first entry or seal that was
changed."""

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

from cluster.domain.audit_seals import (
    EntryDigester,
    Seal,
    SealViolation,
    check_entries,
    check_seal,
    derive_seal_key,
    seal_key_id,
    seal_mac,
)
from cluster.services.audit.epochs import OldEpochChecker, read_epochs
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, AuditSeal
from cluster.store.facts import InstallationFact

log = structlog.get_logger()

SETTLED_AFTER = timedelta(seconds=60)
"""On PostgreSQL a later entry may be committed before an earlier one. After this time both are committed."""
BATCH = 1000
DECODER = json.JSONDecoder()
FULL_TIME_LENGTH = len("2026-11-20 18:00:00.000001")
LAST_CHECK_FACT = "audit_checked"
ENTRY_COLUMNS = tuple(column.key for column in AuditEntry.__table__.columns)
TEXT_EXPRESSIONS = {
    "postgresql": {
        "at": """to_char("at" AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')""",
        "data": "data::text",
    }
}
"""SQL expressions that return these columns as text: parsing them in the driver and formatting them again costs most
of the time. SQLite stores both as text."""
SEALED_COUNT_FACT = "audit_sealed"
"""The number of entries under all seals, so that nobody has to add them up."""


@dataclass(frozen=True)
class AuditStatus:
    """The newest seal of the audit, and how its last check ended."""

    entries: int
    sealed: int
    seals: int
    checked_at: datetime | None
    checked: int
    """The number of entries that the check covered. Unsealed entries cannot be checked."""
    violation: SealViolation | None


@dataclass(frozen=True)
class SealAnchor:
    """A seal that was recorded outside the database, at `place`."""

    place: str
    number: int
    mac: str
    made_at: datetime | None = None
    """When it was recorded."""


def ignore_seal(seal: AuditSeal) -> None:
    """The default for callers other than the scheduler, which records no seal outside the database."""


def seal_entries(
    cluster: Cluster,
    tell: Callable[[AuditSeal], None] = ignore_seal,
    settled_after: timedelta = SETTLED_AFTER,
) -> int:
    """Seals settled entries, a batch per transaction, and returns their number. Two sealers at once do no harm.

    `tell` is called with each seal after its commit. `settled_after` is shorter only if nobody else writes.
    """
    key, sealed = derive_seal_key(cluster.settings.seal_secret), 0
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
        last = load_last_seal(session)
        before = count_sealed(session, last)
        following = select(AuditEntry).where(AuditEntry.id > (last.last_id if last else 0))
        found = session.scalars(following.order_by(AuditEntry.id).limit(BATCH)).all()
    # A seal covers all ids up to its last one, so it ends before the first entry that may have an uncommitted
    # neighbour.
    entries = list(takewhile(lambda entry: can_be_sealed(entry, now, settled_after), found))
    if not entries:
        return None
    digester = EntryDigester(key)
    digests = [(entry.id, digester.digest_of(entry_values(entry))) for entry in entries]
    previous = last.mac if last else ""
    seal = AuditSeal(
        id=last.id + 1 if last else 1,
        at=now,
        last_id=entries[-1].id,
        entries=len(entries),
        key_id=seal_key_id(key),
        digests=[list(digest) for digest in digests],
        previous=previous,
        mac=seal_mac(key, previous, digests),
    )
    with cluster.store.write() as session:
        session.add(seal)
        session.merge(
            InstallationFact(
                name=SEALED_COUNT_FACT, value={"seal": seal.id, "entries": before + seal.entries}
            )
        )
    return seal


def count_sealed(session: Session, last: AuditSeal | None) -> int:
    """Reads the stored count, and sums all seals only if the stored count belongs to another seal."""
    if last is None:
        return 0
    known = session.get(InstallationFact, SEALED_COUNT_FACT)
    if known is not None and known.value.get("seal") == last.id:
        return int(known.value["entries"])
    return session.scalar(select(func.sum(AuditSeal.entries))) or 0


def can_be_sealed(entry: AuditEntry, now: datetime, settled_after: timedelta) -> bool:
    """Whether the entry is old enough. One from the future was written before the clock was set back."""
    return abs(now - entry.at) > settled_after


def load_last_seal(session: Session) -> AuditSeal | None:
    return session.scalar(select(AuditSeal).order_by(AuditSeal.id.desc()).limit(1))


def entry_values(entry: AuditEntry) -> dict[str, Any]:
    """Every column, as the seal covers it."""
    values = {column.key: getattr(entry, column.key) for column in AuditEntry.__table__.columns}
    return values | {"at": entry.at.isoformat()}


def check_audit(cluster: Cluster, anchors: list[SealAnchor]) -> AuditStatus:
    """Checks the whole audit. The first violation is stored as an installation fact."""
    covered = read_audit_status(cluster).sealed
    found = find_first_violation(cluster, anchors)
    value = {"at": cluster.clock().isoformat(), "sealed": covered, "code": found.code if found else None}
    with cluster.store.write() as session:
        session.merge(
            InstallationFact(name=LAST_CHECK_FACT, value=value | {"data": dict(found.data) if found else {}})
        )
    return read_audit_status(cluster)


def find_first_violation(cluster: Cluster, anchors: list[SealAnchor]) -> SealViolation | None:
    """Returns None if everything is as it was sealed, and every seal that was recorded outside exists."""
    key = derive_seal_key(cluster.settings.seal_secret)
    old = OldEpochChecker(read_epochs(cluster, key), key)
    digests, before = EntryDigester(key), None
    known: dict[int, str] = {}
    for seal, entries in read_chain(cluster):
        wrong = None
        if not old.is_old(seal):
            wrong = check_seal(key, seal, before) or check_entries(digests, seal, entries)
        wrong = wrong or old.check(seal, before, entries)
        if wrong is not None:
            return wrong
        known[seal.number] = seal.mac
        before = seal
    lost = [anchor for anchor in anchors if known.get(anchor.number) != anchor.mac]
    cut = [anchor for anchor in lost if not old.explains_missing(anchor.place, anchor.made_at)]
    return SealViolation("audit.cut", {"where": cut[0].place, "seal": cut[0].number}) if cut else None


def read_chain(cluster: Cluster) -> Iterator[tuple[Seal, "SealedEntries"]]:
    """Each seal with all entries after the one before. Each is read in its own transaction, over one connection."""
    number = last_id = 0
    with cluster.store.read_columns() as connection:
        while True:
            following = select(AuditSeal.__table__).where(AuditSeal.id > number)
            row = connection.execute(following.order_by(AuditSeal.id).limit(1)).first()
            entries = SealedEntries(read_range(connection, last_id, row.last_id) if row is not None else [])
            connection.rollback()
            if row is None:
                return
            digests = tuple((digest[0], digest[1]) for digest in row.digests)
            yield Seal(row.id, row.key_id, digests, row.previous, row.mac), entries
            number, last_id = row.id, row.last_id


def read_range(connection: Connection, after: int, until: int) -> Sequence[Row[Any]]:
    """Reads with the driver alone, because a million entries are read each night and SQLAlchemy's types take most of
    the time.
    """
    plain = TEXT_EXPRESSIONS.get(connection.dialect.name, {})
    columns = ", ".join(plain.get(name, name) for name in ENTRY_COLUMNS)
    where = f"id > {int(after)} AND id <= {int(until)} ORDER BY id"
    return connection.exec_driver_sql(f"SELECT {columns} FROM audit_entries WHERE {where}").all()


@dataclass(frozen=True)
class SealedEntries:
    """The entries in the form of `entry_values`. Each is made when it is needed, because all at once would slow down
    the garbage collector.
    """

    rows: Sequence[Row[Any]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            entry = dict(zip(ENTRY_COLUMNS, row, strict=True))
            # Anybody with write access to SQLite's file can put any value in.
            entry["at"], entry["data"] = to_utc_text(str(entry["at"])), parse_json_text(str(entry["data"]))
            yield entry


def parse_json_text(text: str) -> Any:
    """Parses JSON as `json.loads`, but three times as fast for short texts. Invalid JSON stays text."""
    try:
        value, end = DECODER.raw_decode(text)
        return value if end == len(text) else json.loads(text)
    except ValueError:
        return text


def to_utc_text(text: str) -> str:
    """The database's text, which has no offset, as an ISO text in UTC. Text that is no time stays as it is."""
    if len(text) == FULL_TIME_LENGTH and text[10] == " " and not text.endswith(".000000"):
        return f"{text[:10]}T{text[11:]}+00:00"
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).isoformat()
    except ValueError:
        return text


def read_audit_status(cluster: Cluster) -> AuditStatus:
    with cluster.store.read() as session:
        last = load_last_seal(session)
        sealed = count_sealed(session, last)
        later = select(func.count(AuditEntry.id)).where(AuditEntry.id > (last.last_id if last else 0))
        open_ = session.scalar(later) or 0
        checked = session.get(InstallationFact, LAST_CHECK_FACT)
    value = checked.value if checked else {}
    return AuditStatus(
        entries=sealed + open_,
        sealed=sealed,
        seals=last.id if last else 0,
        checked_at=datetime.fromisoformat(value["at"]) if value else None,
        checked=value.get("sealed", 0),
        violation=SealViolation(value["code"], value["data"]) if value.get("code") else None,
    )


def read_newest_seal(cluster: Cluster) -> tuple[int, str] | None:
    """Returns the number and MAC of the newest seal, for callers that record it outside the database."""
    with cluster.store.read() as session:
        last = load_last_seal(session)
    return (last.id, last.mac) if last else None
