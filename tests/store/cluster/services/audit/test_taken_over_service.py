"""A service that somebody has taken over: by its own role of PostgreSQL, and by the file of SQLite as far as that is
promised, each edit, deletion, swap, cut and replay is refused or found, and none stops the seals or their check.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from cluster.domain.people.actor import Actor
from cluster.services.audit.log_lines import append_sealed_entries, audit_log_folder
from cluster.services.audit.recorded_seals import (
    note_lost_seal,
    read_recorded_seals,
    record_newest_seal,
)
from cluster.services.audit.seals import check_audit, read_audit_status, seal_entries
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, audit_entry_columns
from cluster.store.engine import Store
from cluster.store.sql.roles import services_url
from tests.adversaries.audit_moves import (
    FACT_VALUES,
    FACTS,
    HINDRANCES,
    LET_THROUGH,
    MOVES,
    Act,
    SealedAudit,
    add,
    set_fact,
)
from tests.conftest import Clock
from tests.store.audit_tampering import tamper


@dataclass
class Adversary:
    """What the services' user can do: its own statements, and on SQLite whatever the file takes."""

    store: Store
    audit = SealedAudit(entries=(2, 4, 6), seals=(1, 2, 3), free=3)

    @property
    def is_sqlite(self) -> bool:
        return self.store.is_sqlite

    def sql(self, *statements: str) -> None:
        """Raises DBAPIError where PostgreSQL refuses. The triggers of SQLite are the file owner's to drop."""
        if self.is_sqlite:
            tamper(self.store, "PRAGMA ignore_check_constraints = on", *statements)
            return
        with self.store.write() as session:
            for statement in statements:
                session.execute(text(statement))


def add_one(cluster: Cluster, clock: Clock, number: int | None = None) -> None:
    """By an honest service; `number` leaves a gap before it, as refused commits do."""
    columns = audit_entry_columns(clock(), Actor(1, "minji"), "user.created", 2, {})
    if number is not None and not cluster.store.is_sqlite:
        tamper(cluster.store, f"SELECT setval('audit_entries_id_seq', {number - 1})")
    elif number is not None:
        columns["id"] = number
    with cluster.store.write() as session:
        session.add(AuditEntry(**columns))


def root_goes_on(cluster: Cluster, clock: Clock) -> None:
    """As the scheduler does every minute."""
    clock.move(minutes=2)
    note_lost_seal(cluster)
    seal_entries(cluster, lambda seal: record_newest_seal(cluster.settings, seal))
    append_sealed_entries(cluster)


@pytest.fixture
def sealed(cluster: Cluster, clock: Clock) -> Cluster:
    """Three entries with gaps between their numbers, as refused commits leave them, each under a seal of its own."""
    for number in (2, 4, 6):
        add_one(cluster, clock, number)
        root_goes_on(cluster, clock)
    return cluster


@pytest.fixture
def adversary(sealed: Cluster) -> Iterator[Adversary]:
    owner = sealed.settings.owner_url
    if sealed.store.is_sqlite or not owner:
        yield Adversary(sealed.store)
        return
    with closing(Store(services_url(owner))) as store:
        yield Adversary(store)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_every_change_of_the_audit_is_refused_or_found(
    sealed: Cluster, clock: Clock, adversary: Adversary, move: Act
) -> None:
    try:
        move(adversary)
    except DBAPIError as refusal:
        assert not sealed.store.is_sqlite and "permission denied" in str(refusal)
        assert move.__name__ not in LET_THROUGH
        assert check_audit(sealed, read_recorded_seals(sealed.settings)).violation is None
        return
    assert sealed.store.is_sqlite or move.__name__ in LET_THROUGH, "PostgreSQL has refused nothing"
    root_goes_on(sealed, clock)
    for _ in range(2):
        found = check_audit(sealed, read_recorded_seals(sealed.settings)).violation
        assert found is not None
        add_one(sealed, clock)
        root_goes_on(sealed, clock)


@pytest.mark.parametrize("hinder", HINDRANCES.values(), ids=HINDRANCES)
def test_no_entry_stops_seals_or_their_check(
    sealed: Cluster, clock: Clock, adversary: Adversary, hinder: dict[str, str]
) -> None:
    try:
        add(adversary, 70, **hinder)
    except DBAPIError as refusal:
        assert not sealed.store.is_sqlite and "invalid" in str(refusal)  # It is no JSON for this database.
        return
    add_one(sealed, clock, 80)
    root_goes_on(sealed, clock)
    standing = check_audit(sealed, read_recorded_seals(sealed.settings))
    assert (standing.sealed, standing.violation) == (5, None)
    assert sum(file.read_bytes().count(b'"minji"') for file in audit_log_folder(sealed).iterdir()) == 5
    adversary_edits(sealed, 70)
    found = check_audit(sealed, []).violation
    assert found is not None and found.data["entry"] == 70


def adversary_edits(cluster: Cluster, number: int) -> None:
    tamper(cluster.store, f"UPDATE audit_entries SET data = '{{\"a\": 1}}' WHERE id = {number}")


@pytest.mark.parametrize("fact", FACTS)
def test_no_fact_stops_seals_or_their_check(
    sealed: Cluster, clock: Clock, adversary: Adversary, fact: str
) -> None:
    for value in FACT_VALUES:
        set_fact(adversary, fact, value)
        read_audit_status(sealed)
        add_one(sealed, clock)
        root_goes_on(sealed, clock)
        standing = check_audit(sealed, read_recorded_seals(sealed.settings))
        assert standing.violation is None
    assert standing.sealed == standing.entries == 3 + len(FACT_VALUES)
