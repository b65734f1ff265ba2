"""Seals audit entries in batches, so that no commit waits for the chain, and finds the first entry or seal that was
changed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

import structlog
from sqlalchemy import func, select
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
from cluster.services.audit.entry_rows import (
    BEFORE_ALL,
    EntryRows,
    parse_aware_moment,
    read_audit_fact,
    read_entry_rows,
    read_whole_number,
    replace_fact,
)
from cluster.services.audit.epochs import OldEpochChecker, read_epochs
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, AuditSeal

log = structlog.get_logger()

SETTLED_AFTER = timedelta(seconds=60)
"""On PostgreSQL a later entry may be committed before an earlier one. After this time both are committed."""
BATCH = 1000
LAST_CHECK_FACT = "audit_checked"
SEALED_COUNT_FACT = "audit_sealed"
"""The number of entries under all seals, so that nobody has to count them."""


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
    """The time at which the seal was recorded."""


def ignore_seal(seal: AuditSeal) -> None:
    """Records nothing. It is the default for all callers except the scheduler, which records seals in a file."""


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
    with cluster.store.read_columns() as connection:
        found = read_entry_rows(connection, last.last_id if last else BEFORE_ALL, limit=BATCH)
    # A seal covers all ids up to its last one, so it ends before the first entry that may have an uncommitted
    # neighbour.
    entries = list(takewhile(lambda entry: can_be_sealed(entry, now, settled_after), found))
    if not entries:
        return None
    digester = EntryDigester(key)
    digests = [(entry["id"], digester.digest_of(entry)) for entry in entries]
    previous = last.mac if last else ""
    seal = AuditSeal(
        id=last.id + 1 if last else 1,
        at=now,
        last_id=entries[-1]["id"],
        entries=len(entries),
        key_id=seal_key_id(key),
        digests=[list(digest) for digest in digests],
        previous=previous,
        mac=seal_mac(key, previous, digests),
    )
    with cluster.store.write() as session:
        session.add(seal)
        replace_fact(session, SEALED_COUNT_FACT, {"seal": seal.id, "entries": before + seal.entries})
    return seal


def count_sealed(session: Session, last: AuditSeal | None) -> int:
    """Reads the stored count, and sums all seals only if the stored count belongs to another seal."""
    if last is None:
        return 0
    known = read_audit_fact(session, SEALED_COUNT_FACT)
    entries = read_whole_number(known, "entries")
    if known.get("seal") == last.id and entries is not None:
        return entries
    return session.scalar(select(func.sum(AuditSeal.entries))) or 0


def can_be_sealed(entry: Mapping[str, Any], now: datetime, settled_after: timedelta) -> bool:
    """Whether the entry is old enough. An entry from the future was written before the clock was set back. An entry
    with an invalid time counts as old enough, because no service writes such a time.
    """
    at = parse_aware_moment(entry["at"])
    return at is None or abs(now - at) > settled_after


def load_last_seal(session: Session) -> AuditSeal | None:
    return session.scalar(select(AuditSeal).order_by(AuditSeal.id.desc()).limit(1))


def check_audit(cluster: Cluster, anchors: list[SealAnchor]) -> AuditStatus:
    """Checks the whole audit. The first violation is stored as an installation fact."""
    covered = read_audit_status(cluster).sealed
    found = find_first_violation(cluster, anchors)
    value = {"at": cluster.clock().isoformat(), "sealed": covered, "code": found.code if found else None}
    with cluster.store.write() as session:
        replace_fact(session, LAST_CHECK_FACT, value | {"data": dict(found.data) if found else {}})
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


def read_chain(cluster: Cluster) -> Iterator[tuple[Seal, EntryRows]]:
    """Each seal with all entries after the one before. Each is read in its own transaction, over one connection."""
    number, last_id = 0, BEFORE_ALL
    with cluster.store.read_columns() as connection:
        while True:
            following = select(AuditSeal.__table__).where(AuditSeal.id > number)
            row = connection.execute(following.order_by(AuditSeal.id).limit(1)).first()
            entries = read_entry_rows(connection, last_id, row.last_id) if row is not None else EntryRows([])
            connection.rollback()
            if row is None:
                return
            digests = tuple((digest[0], digest[1]) for digest in row.digests)
            yield Seal(row.id, row.key_id, digests, row.previous, row.mac), entries
            number, last_id = row.id, row.last_id


def read_audit_status(cluster: Cluster) -> AuditStatus:
    with cluster.store.read() as session:
        last = load_last_seal(session)
        sealed = count_sealed(session, last)
        later = select(func.count(AuditEntry.id)).where(
            AuditEntry.id > (last.last_id if last else BEFORE_ALL)
        )
        open_ = session.scalar(later) or 0
        value = read_audit_fact(session, LAST_CHECK_FACT)
    return AuditStatus(
        entries=sealed + open_,
        sealed=sealed,
        seals=last.id if last else 0,
        checked_at=parse_aware_moment(value.get("at")),
        checked=read_whole_number(value, "sealed") or 0,
        violation=parse_violation(value),
    )


def parse_violation(fact: Mapping[str, Any]) -> SealViolation | None:
    code, data = fact.get("code"), fact.get("data")
    return SealViolation(code, data) if code and isinstance(code, str) and isinstance(data, dict) else None


def read_newest_seal(cluster: Cluster) -> tuple[int, str] | None:
    """Returns the number and MAC of the newest seal, for callers that record it outside the database."""
    with cluster.store.read() as session:
        last = load_last_seal(session)
    return (last.id, last.mac) if last else None
