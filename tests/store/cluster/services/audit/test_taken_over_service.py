"""A service that somebody has taken over: by its own role of PostgreSQL, and by the file of SQLite as far as that is
promised, each edit, deletion, swap, cut and replay is refused or found, and none stops the seals or their check.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from cluster.domain.people.actor import Actor
from cluster.services.audit.log_files import append_sealed_entries, audit_log_folder
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
from tests.conftest import Clock
from tests.store.audit_tampering import tamper

ENTRY = "(id, at, actor_name, address, request_id, action, object_kind, outcome, data)"
COPIED = "at, actor_name, address, request_id, action, object_kind, outcome, data"
SEAL = "(id, at, last_id, entries, key_id, digests, previous, mac)"
Act = Callable[["Adversary"], None]


@dataclass
class Adversary:
    """What the services' user can do: its own statements, and on SQLite whatever the file takes."""

    store: Store

    def sql(self, *statements: str) -> None:
        """Raises DBAPIError where PostgreSQL refuses. The triggers of SQLite are the file owner's to drop."""
        if self.store.is_sqlite:
            tamper(self.store, "PRAGMA ignore_check_constraints = on", *statements)
            return
        with self.store.write() as session:
            for statement in statements:
                session.execute(text(statement))

    def add(self, number: int | str, *, at: str = "", action: str = "user.created", data: str = "{}") -> None:
        """An entry of its own, as every service may add one."""
        moment = at or "2026-11-20 09:00:00+00:00"
        self.sql(
            f"INSERT INTO audit_entries {ENTRY} VALUES"
            f" ({number}, '{moment}', 'minji', '', '', '{action}', 'user', 'done', '{data}')"
        )


def edit_an_entry(adversary: Adversary) -> None:
    adversary.sql("UPDATE audit_entries SET actor_name = 'nobody' WHERE id = 4")


def edit_an_entry_by_replacing_it(adversary: Adversary) -> None:
    copy = f"INTO audit_entries (id, {COPIED}) SELECT 4, {COPIED} FROM audit_entries WHERE id = 2"
    if adversary.store.is_sqlite:
        adversary.sql(f"REPLACE {copy}")
    else:
        adversary.sql(f"INSERT {copy} ON CONFLICT (id) DO UPDATE SET actor_name = 'nobody'")


def delete_an_entry(adversary: Adversary) -> None:
    adversary.sql("DELETE FROM audit_entries WHERE id = 4")


def delete_all(adversary: Adversary) -> None:
    adversary.sql("DELETE FROM audit_seals", "DELETE FROM audit_entries")


def swap_two(adversary: Adversary) -> None:
    adversary.sql(
        "UPDATE audit_entries SET id = 400 WHERE id = 4",
        "UPDATE audit_entries SET id = 4 WHERE id = 6",
        "UPDATE audit_entries SET id = 6 WHERE id = 400",
    )


def swap_two_seals(adversary: Adversary) -> None:
    adversary.sql(
        "UPDATE audit_seals SET id = 100, last_id = 1000 WHERE id = 1",
        "UPDATE audit_seals SET id = 1, last_id = 1001 WHERE id = 2",
        "UPDATE audit_seals SET id = 2, last_id = 4 WHERE id = 100",
        "UPDATE audit_seals SET last_id = 2 WHERE id = 1",
    )


def cut_the_end(adversary: Adversary) -> None:
    adversary.sql("DELETE FROM audit_seals WHERE id = 3", "DELETE FROM audit_entries WHERE id = 6")


def cut_the_end_and_write_another(adversary: Adversary) -> None:
    cut_the_end(adversary)
    adversary.add(6)


def cut_all_and_begin_again(adversary: Adversary) -> None:
    delete_all(adversary)
    adversary.add(1)


def cut_a_seal_alone(adversary: Adversary) -> None:
    adversary.sql("DELETE FROM audit_seals WHERE id = 2")


def replay_an_entry_between_others(adversary: Adversary) -> None:
    adversary.sql(
        f"INSERT INTO audit_entries (id, {COPIED}) SELECT 3, {COPIED} FROM audit_entries WHERE id = 2"
    )


def replay_an_entry_before_all(adversary: Adversary) -> None:
    adversary.sql(
        f"INSERT INTO audit_entries (id, {COPIED}) SELECT -7, {COPIED} FROM audit_entries WHERE id = 2"
    )


def replay_a_seal(adversary: Adversary) -> None:
    """Of its own entries, under the number of the next one."""
    adversary.sql(
        f"INSERT INTO audit_seals {SEAL}"
        " SELECT 4, at, 1000, entries, key_id, digests, previous, mac FROM audit_seals WHERE id = 3"
    )


def seal_with_another_key(adversary: Adversary) -> None:
    adversary.sql("UPDATE audit_seals SET mac = 'ffff', key_id = 'ffff' WHERE id = 3")


def pretend_a_restore(adversary: Adversary) -> None:
    """An epoch that nobody's key has signed, to explain a cut end."""
    data = (
        '{"epoch": 2, "seal": 2, "last": 4, "digest": "", "made_at": "2026-01-01T00:00:00+00:00",'
        ' "left": ["newest-seal.json"], "mac": "0"}'
    )
    adversary.add(90, action="audit.epoch", data=data)
    cut_the_end(adversary)


def hide_the_last_check(adversary: Adversary) -> None:
    edit_an_entry(adversary)
    adversary.sql(
        "INSERT INTO installation_facts (name, value) VALUES"
        """ ('audit_checked', '{"at": "2026-11-20T09:00:00+00:00", "sealed": 3, "code": null, "data": {}}')"""
    )


MOVES: dict[str, Act] = {
    act.__name__: act
    for act in (
        edit_an_entry, edit_an_entry_by_replacing_it, delete_an_entry, delete_all, swap_two, swap_two_seals,
        cut_the_end, cut_the_end_and_write_another, cut_all_and_begin_again, cut_a_seal_alone,
        replay_an_entry_between_others, replay_an_entry_before_all, replay_a_seal, seal_with_another_key,
        pretend_a_restore, hide_the_last_check,
    )
}  # fmt: skip
LET_THROUGH = {"replay_an_entry_between_others", "replay_an_entry_before_all"}
"""PostgreSQL lets a service add entries, with any number: these are found and not refused."""


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


DEEP = "[" * 3000 + "]" * 3000
HINDRANCES: dict[str, Callable[[Adversary], None]] = {
    "a time without an end": lambda it: it.add(70, at="infinity"),
    "a time that no calendar of Python has": lambda it: it.add(70, at="20000-01-01 00:00:00+00:00"),
    "a time before our era": lambda it: it.add(70, at="0044-03-15 00:00:00+00:00 BC"),
    "the last moment": lambda it: it.add(70, at="9999-12-31 23:59:59+00:00"),
    "data nested deeply": lambda it: it.add(70, data=DEEP),
    "a number of very many digits": lambda it: it.add(70, data="9" * 6000),
    "two megabytes": lambda it: it.add(70, data=f'{{"a": "{"x" * 2**21}"}}'),
    "an epoch without a digest": lambda it: it.add(70, action="audit.epoch", data='{"mac": "é"}'),
    "an epoch that is a list": lambda it: it.add(70, action="audit.epoch", data="[1]"),
    "an epoch nested deeply": lambda it: it.add(70, action="audit.epoch", data=DEEP),
    "a line break and a half of a character": lambda it: it.add(70, data='{"a": "\\\\n{\\\\udc80"}'),
}
FACTS = ("audit_checked", "audit_sealed", "access_log")
VALUES = ("[]", "5", '"x"', DEEP, '{"at": 5, "sealed": "x", "code": 7}', '{"seal": 3, "entries": "many"}',
          '{"last_id": "x"}', '{"last_id": -1}')  # fmt: skip


@pytest.mark.parametrize("hinder", HINDRANCES.values(), ids=HINDRANCES)
def test_no_entry_stops_seals_or_their_check(
    sealed: Cluster, clock: Clock, adversary: Adversary, hinder: Callable[[Adversary], None]
) -> None:
    try:
        hinder(adversary)
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
    for value in VALUES:
        change: dict[str, Any] = {"name": fact, "value": value}
        adversary.sql(
            f"DELETE FROM installation_facts WHERE name = '{change['name']}'",
            f"INSERT INTO installation_facts (name, value) VALUES ('{change['name']}', '{change['value']}')",
        )
        read_audit_status(sealed)
        add_one(sealed, clock)
        root_goes_on(sealed, clock)
        standing = check_audit(sealed, read_recorded_seals(sealed.settings))
        assert standing.violation is None
    assert standing.sealed == standing.entries == 3 + len(VALUES)
