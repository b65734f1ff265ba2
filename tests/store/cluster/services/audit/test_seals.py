"""The sealed audit: an edit, a gap, an entry put in, a changed chain and a cut end are each found at their place."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from cluster.services.audit import seals
from cluster.services.audit.seals import (
    SealAnchor,
    check_audit,
    read_audit_status,
    read_newest_seal,
    seal_entries,
)
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, add_audit_entry
from cluster.store.facts import InstallationFact
from tests.builders import actor_of, an_administrator
from tests.conftest import Clock
from tests.store.audit_tampering import tamper


@pytest.fixture
def sealed(cluster: Cluster, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Five entries in three seals of two, two and one."""
    monkeypatch.setattr(seals, "BATCH", 2)
    actor = actor_of(an_administrator(cluster))
    for number in range(5):
        with cluster.store.write() as session:
            add_audit_entry(
                session, clock.now, actor, "job.submitted", number, note=f"작업 {number}", part=0.1
            )
    clock.move(minutes=2)
    assert seal_entries(cluster) == 5
    return cluster


def test_an_untouched_audit_is_whole(sealed: Cluster) -> None:
    standing = check_audit(sealed, [])
    assert (standing.entries, standing.sealed, standing.seals, standing.violation) == (5, 5, 3, None)
    assert standing.checked_at == sealed.clock()


@pytest.mark.parametrize("part", [0, 1, 123_456], ids=["whole second", "least part", "some part"])
def test_the_moment_of_an_entry_is_covered_to_its_last_digit(
    sealed: Cluster, clock: Clock, part: int
) -> None:
    with sealed.store.write() as session:
        add_audit_entry(
            session, clock.now.replace(microsecond=part), actor_of(an_administrator(sealed)), "job.stopped", 1
        )
    clock.move(minutes=2)
    assert seal_entries(sealed) == 1
    assert check_audit(sealed, []).violation is None
    moved = clock.now.replace(microsecond=part) - timedelta(minutes=2, microseconds=1)
    zone = "" if sealed.store.is_sqlite else "+00:00"
    tamper(sealed.store, f"UPDATE audit_entries SET at = '{moved:%Y-%m-%d %H:%M:%S.%f}{zone}' WHERE id = 6")
    found = check_audit(sealed, []).violation
    assert found is not None and (found.code, found.data["entry"]) == ("audit.entry_edited", 6)


def test_what_is_not_settled_is_sealed_later(sealed: Cluster, clock: Clock) -> None:
    with sealed.store.write() as session:
        add_audit_entry(session, clock.now, actor_of(an_administrator(sealed)), "job.stopped", 1)
    assert seal_entries(sealed) == 0
    standing = check_audit(sealed, [])
    assert (standing.entries, standing.checked) == (6, 5)
    clock.move(minutes=2)
    assert seal_entries(sealed) == 1
    assert check_audit(sealed, []).violation is None


@pytest.mark.parametrize("away", [timedelta(seconds=40), timedelta(days=3650)], ids=["busy", "clock set"])
def test_an_entry_with_a_later_moment_and_a_lower_number_is_no_gap(
    sealed: Cluster, clock: Clock, away: timedelta
) -> None:
    """Verbs take their moment when they begin and their number when they end; a clock may have been wrong."""
    actor = actor_of(an_administrator(sealed))
    for moment in (clock.now + away, clock.now):
        with sealed.store.write() as session:
            add_audit_entry(session, moment, actor, "job.stopped", 1)
    for _ in range(3):
        clock.move(seconds=61)
        seal_entries(sealed)
    standing = check_audit(sealed, [])
    assert (standing.sealed, standing.violation) == (7, None)


@pytest.mark.parametrize(
    ("statements", "code", "place"),
    [
        (["UPDATE audit_entries SET actor_name = 'minji' WHERE id = 3"], "audit.entry_edited", 3),
        (["UPDATE audit_entries SET outcome = 'refused' WHERE id = 5"], "audit.entry_edited", 5),
        (["DELETE FROM audit_entries WHERE id = 2"], "audit.entry_missing", 2),
        (["DELETE FROM audit_entries"], "audit.entry_missing", 1),
        (
            [
                "UPDATE audit_entries SET id = 100 WHERE id = 3",
                "UPDATE audit_entries SET id = 3 WHERE id = 4",
                "UPDATE audit_entries SET id = 4 WHERE id = 100",
            ],
            "audit.entry_edited",
            3,
        ),
    ],
    ids=["edited", "outcome", "deleted", "emptied", "swapped"],
)
def test_a_changed_entry_is_named(sealed: Cluster, statements: list[str], code: str, place: int) -> None:
    tamper(sealed.store, *statements)
    found = check_audit(sealed, []).violation
    assert found is not None and (found.code, found.data["entry"]) == (code, place)


@pytest.mark.parametrize("change", ["data = '{'", "data = 5", "at = 'soon'", "at = 7", "actor_name = x'00'"])
def test_what_no_row_of_ours_can_hold_is_an_edit_too(sealed: Cluster, change: str) -> None:
    if sealed.store.is_sqlite:  # The other keeps its types.
        tamper(sealed.store, f"UPDATE audit_entries SET {change} WHERE id = 4")
        found = check_audit(sealed, []).violation
        assert found is not None and (found.code, found.data["entry"]) == ("audit.entry_edited", 4)


def test_an_entry_put_between_others_is_named(sealed: Cluster, clock: Clock) -> None:
    tamper(
        sealed.store, "DELETE FROM audit_seals WHERE id = 3", "UPDATE audit_entries SET id = 9 WHERE id = 5"
    )
    assert seal_entries(sealed) == 1
    with sealed.store.write() as session:
        session.add(
            AuditEntry(id=7, at=clock.now, actor_name="x", address="", request_id="", action="job.submitted",
                       object_kind="job", data={})
        )  # fmt: skip
    found = check_audit(sealed, []).violation
    assert found is not None and (found.code, found.data) == ("audit.entry_added", {"entry": 7})


@pytest.mark.parametrize(
    ("statement", "code", "seal"),
    [
        ("DELETE FROM audit_seals WHERE id = 2", "audit.seal_missing", 2),
        ("UPDATE audit_seals SET mac = previous WHERE id = 2", "audit.seal_broken", 2),
        ("UPDATE audit_seals SET previous = '' WHERE id = 3", "audit.seal_broken", 3),
        ("DELETE FROM audit_seals WHERE id = 1", "audit.seal_missing", 1),
    ],
)
def test_a_changed_chain_is_named(sealed: Cluster, statement: str, code: str, seal: int) -> None:
    tamper(sealed.store, statement)
    found = check_audit(sealed, []).violation
    assert found is not None and (found.code, found.data["seal"]) == (code, seal)


def test_a_cut_end_is_found_by_what_a_backup_has_written_down(sealed: Cluster) -> None:
    anchor = read_newest_seal(sealed)
    assert anchor is not None
    anchors = [SealAnchor("groundcrew-20261120-140000.sql.zst", *anchor)]
    assert check_audit(sealed, anchors).violation is None
    tamper(sealed.store, "DELETE FROM audit_seals WHERE id = 3", "DELETE FROM audit_entries WHERE id = 5")
    assert check_audit(sealed, []).violation is None
    found = check_audit(sealed, anchors).violation
    assert found is not None and (found.code, found.data["seal"]) == ("audit.cut", 3)


def test_who_edits_and_has_not_the_key_cannot_seal_anew(sealed: Cluster) -> None:
    other = replace(sealed, settings=replace(sealed.settings, secret_key="somebody else's key, long enough"))
    found = check_audit(other, []).violation
    assert found is not None and found.code == "audit.other_key"


def test_seals_are_append_only(sealed: Cluster) -> None:
    attempts: list[Callable[[], object]] = []
    for statement in ("UPDATE audit_seals SET mac = ''", "DELETE FROM audit_seals"):

        def attempt(statement: str = statement) -> None:
            with sealed.store.write() as session:
                session.execute(text(statement))

        attempts.append(attempt)
    for each in attempts:
        with pytest.raises(Exception, match="append-only|permission denied"):
            each()


def test_a_second_sealer_is_harmless(sealed: Cluster, clock: Clock) -> None:
    clock.move(minutes=2)
    assert seal_entries(sealed) == 0
    clock.now -= timedelta(hours=1)
    assert seal_entries(sealed) == 0


def test_services_that_share_the_audit_key_check_each_others_seals(sealed: Cluster) -> None:
    """On servers each service has a secret key of its own."""
    ours = replace(
        sealed, settings=replace(sealed.settings, audit_key=sealed.settings.secret_key, secret_key="other")
    )
    assert check_audit(ours, []).violation is None


def test_nobody_adds_the_seals_up_and_a_lost_sum_is_found_again(sealed: Cluster) -> None:
    with sealed.store.write() as session:
        fact = session.get_one(InstallationFact, "audit_sealed")
        assert fact.value == {"seal": 3, "entries": 5}
        fact.value = {"seal": 2, "entries": 4}
    assert read_audit_status(sealed).sealed == 5
