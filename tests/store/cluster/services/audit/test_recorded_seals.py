"""A cut end of the audit is found by the file beside the database, without a backup and without another machine."""

import json
from datetime import timedelta

import pytest

from cluster.domain.people.actor import Actor
from cluster.services.audit.recorded_seals import (
    LOST,
    NEWEST,
    find_lost_seal,
    note_lost_seal,
    read_recorded_seals,
    record_newest_seal,
    seals_folder,
)
from cluster.services.audit.seals import find_first_violation, read_audit_status, seal_entries
from cluster.services.context import Cluster
from cluster.store.audit import AuditSeal, add_audit_entry
from tests.conftest import Clock
from tests.store.audit_tampering import tamper

CUT = ("DELETE FROM audit_seals WHERE id = 3", "DELETE FROM audit_entries WHERE id = 3")


def seal_another(cluster: Cluster, clock: Clock) -> None:
    with cluster.store.write() as session:
        add_audit_entry(session, clock(), Actor(1, "minji"), "user.created", 2)
    clock.move(minutes=2)
    note_lost_seal(cluster)
    seal_entries(cluster, lambda seal: record_newest_seal(cluster.settings, seal))


@pytest.fixture
def sealed(cluster: Cluster, clock: Clock) -> Cluster:
    """Three entries, each under a seal of its own."""
    for _ in range(3):
        seal_another(cluster, clock)
    return cluster


def test_the_newest_seal_is_recorded_and_everything_is_whole(sealed: Cluster) -> None:
    (newest,) = read_recorded_seals(sealed.settings)
    assert newest.number == 3
    assert find_lost_seal(sealed, [newest]) is None and note_lost_seal(sealed) is None
    assert find_first_violation(sealed, [newest]) is None
    assert seals_folder(sealed.settings).stat().st_mode & 0o777 == 0o700


def test_a_cut_end_is_found_before_the_next_seal_and_stays_known_after_it(
    sealed: Cluster, clock: Clock
) -> None:
    tamper(sealed.store, *CUT)
    assert find_first_violation(sealed, []) is None  # The chain that is left fits together.
    seal_another(sealed, clock)
    status = read_audit_status(sealed)
    assert status.violation is not None
    assert (status.violation.code, status.violation.data["seal"]) == ("audit.cut", 3)
    seal_another(sealed, clock)
    recorded = read_recorded_seals(sealed.settings)
    assert [each.place.rpartition("/")[2] for each in recorded] == [NEWEST, LOST]
    violation = find_first_violation(sealed, recorded)
    assert violation is not None and violation.data["where"].endswith(LOST)


def test_a_seal_that_was_put_in_its_place_is_no_seal_of_ours(sealed: Cluster) -> None:
    tamper(sealed.store, "UPDATE audit_seals SET mac = 'forged' WHERE id = 3")
    found = note_lost_seal(sealed)
    assert found is not None and found.data["seal"] == 3


def test_a_file_that_was_cut_short_or_is_missing_stops_nothing(sealed: Cluster, clock: Clock) -> None:
    file = seals_folder(sealed.settings) / NEWEST
    for content in ("", '{"seal": 3', json.dumps({"seal": "x", "mac": "", "at": ""}), "[]"):
        file.write_text(content)
        assert read_recorded_seals(sealed.settings) == [] and note_lost_seal(sealed) is None
    file.unlink()
    seal_another(sealed, clock)
    assert [each.number for each in read_recorded_seals(sealed.settings)] == [4]


def test_a_disk_that_refuses_the_file_holds_no_sealing_up(sealed: Cluster, clock: Clock) -> None:
    folder = seals_folder(sealed.settings)
    (folder / NEWEST).unlink()
    folder.rmdir()
    folder.write_text("a file in its place")
    seal = AuditSeal(
        id=9, at=clock() + timedelta(0), last_id=9, entries=1, key_id="k", digests=[], previous="", mac="m"
    )
    record_newest_seal(sealed.settings, seal)
    assert folder.read_text() == "a file in its place"
