"""After a restore the access log begins a new epoch, and verifies."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from cluster.domain.audit_seals import Seal, derive_seal_key, seal_key_id
from cluster.domain.states import JobState
from cluster.services.audit.epochs import AuditEpoch, OldEpochChecker, read_epochs
from cluster.services.audit.seals import SealAnchor, check_audit, read_newest_seal, seal_entries
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, add_audit_entry
from cluster.store.jobs import Job
from tests.builders import (
    actor_of,
    an_administrator,
)
from tests.conftest import Clock
from tests.store.audit_tampering import tamper
from tests.store.restore_setup import backed_up, restored
from tests.store.restore_setup import lab as lab
from worker.backups.audit_anchors import anchors_in_backups


def life_goes_on(lab: Cluster, clock: Clock) -> None:
    """What is lost with the restore: another person, another job, the end of the first one, more seals."""
    clock.move(hours=5)
    person = an_administrator(lab, "minji")
    with lab.store.write() as session:
        waiting = session.scalars(select(Job).where(Job.name == "waiting")).one()
        waiting.state, waiting.ended_at, waiting.end_code = JobState.FINISHED, clock(), "exit.finished"
        add_audit_entry(session, clock(), actor_of(person), "user.created", person.id)
    clock.move(minutes=2)
    seal_entries(lab)


def test_the_access_log_begins_an_epoch_and_verifies(lab: Cluster, clock: Clock) -> None:
    file = backed_up(lab)
    life_goes_on(lab, clock)
    backed_up(lab)  # Its anchor is of the life that is left.
    clock.move(hours=1)
    assert (
        restored(lab, file).counts.epoch,
        check_audit(lab, anchors_in_backups(lab.settings)).violation,
    ) == (
        2,
        None,
    )
    clock.move(days=1)
    backed_up(lab)
    restored(lab, file)
    assert check_audit(lab, anchors_in_backups(lab.settings)).violation is None
    with lab.store.read() as session:
        assert (
            session.scalars(select(AuditEntry.action).order_by(AuditEntry.id.desc())).first() == "audit.epoch"
        )


def with_key(lab: Cluster, key: str) -> Cluster:
    return replace(lab, settings=replace(lab.settings, audit_key=key))


def test_without_the_old_key_the_old_epoch_is_kept_by_its_digest(lab: Cluster, clock: Clock) -> None:
    file = backed_up(lab)
    fresh = with_key(lab, "of the fresh machine")
    assert restored(fresh, file).counts.audit == "audit.other_key"
    assert check_audit(fresh, anchors_in_backups(fresh.settings)).violation is None
    tamper(fresh.store, "UPDATE audit_entries SET actor_name = 'somebody' WHERE id = 2")
    found = check_audit(fresh, anchors_in_backups(fresh.settings)).violation
    assert found is not None and (found.code, found.data["epoch"]) == ("audit.epoch_changed", 2)
    assert check_audit(with_key(lab, "a third one"), []).violation is not None


def test_a_cut_end_cannot_be_passed_off_as_a_restore(lab: Cluster, clock: Clock) -> None:
    life_goes_on(lab, clock)
    anchor = read_newest_seal(lab)
    assert anchor is not None
    tamper(lab.store, "DELETE FROM audit_seals WHERE id = 2", "DELETE FROM audit_entries WHERE id > 3")
    said = {"epoch": 2, "name": "x", "sha256": "x", "made_at": "2026-01-01T00:00:00+00:00", "seal": 1, "last": 3,
            "digest": "x", "left": ["the night's"], "was": "", "mac": "0" * 64}  # fmt: skip
    with lab.store.write() as session:
        add_audit_entry(session, clock(), actor_of(an_administrator(lab)), "audit.epoch", None, **said)
    found = check_audit(lab, [SealAnchor("the night's", *anchor, clock())]).violation
    assert found is not None and found.code == "audit.cut"


def key_of(cluster: Cluster) -> bytes:
    return derive_seal_key(cluster.settings.seal_secret)


def test_each_restore_begins_an_epoch_that_only_its_own_key_has_signed(lab: Cluster, clock: Clock) -> None:
    assert read_epochs(lab, key_of(lab)) == []
    file = backed_up(lab)
    made_at = clock()
    clock.move(hours=1)
    restored(lab, file)
    (epoch,) = read_epochs(lab, key_of(lab))
    assert (epoch.number, epoch.seal, epoch.made_at, epoch.at) == (2, 1, made_at, clock())
    assert epoch.is_signed_by_our_key and epoch.last < epoch.entry
    assert read_epochs(lab, b"another key") == []


NIGHT = datetime(2026, 11, 20, 18, tzinfo=UTC)
KEY = b"ours"
EPOCH = AuditEpoch(2, 10, NIGHT, True, 4, 9, "digest", NIGHT - timedelta(hours=5), frozenset({"the log"}))


@pytest.mark.parametrize(
    ("place", "hours_before", "is_explained"),
    [
        ("the log", None, True),
        ("elsewhere", None, False),
        ("elsewhere", 4, True),
        ("elsewhere", 6, False),
        ("elsewhere", -1, False),
    ],
)
def test_a_restore_explains_seals_of_the_life_that_it_left(
    place: str, hours_before: int | None, is_explained: bool
) -> None:
    made_at = None if hours_before is None else NIGHT - timedelta(hours=hours_before)
    assert OldEpochChecker([EPOCH], KEY).explains_missing(place, made_at) is is_explained


@pytest.mark.parametrize(
    ("number", "key", "signed_by_us", "is_old"),
    [
        (4, "other", True, True),
        (5, "other", True, False),
        (4, seal_key_id(KEY), True, False),
        (4, "other", False, False),
    ],
)
def test_seals_of_another_key_are_old_where_a_signed_epoch_speaks_for_them(
    number: int, key: str, signed_by_us: bool, is_old: bool
) -> None:
    checker = OldEpochChecker([replace(EPOCH, is_signed_by_our_key=signed_by_us)], KEY)
    assert checker.is_old(Seal(number, key, (), "", "mac")) is is_old
