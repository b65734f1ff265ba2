"""A backup that is put back: people and history are there, nothing starts twice, and the access log says so."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.engine import make_url

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import JobState, NotificationChannel, OperationKind, OperationState
from cluster.services.alerts import outbox
from cluster.services.audit.seals import SealAnchor, read_newest_seal, seal_entries
from cluster.services.backups import manifests
from cluster.services.backups.restored_database import (
    ID_GAP,
    RestoredBackup,
    describe_old_epoch,
    end_all_sessions,
    end_live_attempts,
    hold_waiting_jobs,
    interrupt_operations,
    prepare_restored_database,
    skip_ids,
)
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle
from cluster.services.people.users import service_actor
from cluster.services.repairs.stuck_operations import count_stuck_operations, release_stuck_operations
from cluster.store.alerts import AlertOccurrence, Notification
from cluster.store.audit import add_audit_entry
from cluster.store.engine import Store
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from cluster.store.operations import Operation
from cluster.store.repairs import RepairLock, RepairRun
from cluster.store.users import SignInSession, User
from tests.builders import (
    a_dataset,
    a_job,
    a_repair_run,
    a_training,
    a_workspace,
    actor_of,
    add,
    an_administrator,
)
from tests.conftest import Clock
from tests.store.restore_setup import backed_up, refusal, restored
from tests.store.restore_setup import lab as lab
from worker.backups.databases import postgresql as pg
from worker.backups.dump_files import write_backup_manifest


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


def test_people_and_history_are_there_and_what_was_there_is_kept(lab: Cluster, clock: Clock) -> None:
    file = backed_up(lab)
    life_goes_on(lab, clock)
    done = restored(lab, file)
    with lab.store.read() as session:
        names = set(session.scalars(select(User.name)))
    assert "hjkim" in names and "minji" not in names
    assert done.pre_restore_copy is not None and done.pre_restore_copy.name.startswith("before-restore-")
    if lab.store.is_sqlite:
        with closing(sqlite3.connect(done.pre_restore_copy)) as old:
            assert ("minji",) in old.execute("SELECT name FROM users").fetchall()
    else:
        assert done.pre_restore_copy.with_name(done.pre_restore_copy.name + ".json").exists()
    assert done.pre_restore_copy.name not in [
        each.name for each in manifests.read_backups(lab.settings.backups)
    ]


def test_what_ran_is_lost_and_what_waited_is_held(lab: Cluster, clock: Clock) -> None:
    file = backed_up(lab)
    made_at = clock()
    clock.move(hours=9)
    settled = restored(lab, file).counts
    assert (settled.lost, settled.held, settled.operations, settled.sessions) == (1, 1, 1, 1)
    with lab.store.read() as session:
        running, waiting = (
            session.scalars(select(Job).where(Job.name == name)).one() for name in ("running", "waiting")
        )
        assert (running.state, running.end_code, running.ended_at) == (
            JobState.FAILED,
            "exit.restored",
            made_at,
        )
        assert (waiting.state, waiting.held_at, waiting.waiting_code) == (
            JobState.WAITING,
            clock(),
            "waiting.on_hold",
        )
        assert waiting.events[-1].code == "job.held_by_restore" and running.events[-1].code == "exit.restored"
        assert session.scalars(select(Attempt).where(Attempt.ended_at.is_(None))).all() == []
        assert {each.ended_at for each in session.scalars(select(Allocation))} == {made_at}
        assert session.scalars(select(SignInSession).where(SignInSession.ended_at.is_(None))).all() == []
        assert session.scalars(select(Operation)).one().state is OperationState.INTERRUPTED


def test_a_repair_that_was_under_way_holds_its_target_no_more(lab: Cluster) -> None:
    person = an_administrator(lab, "ops")
    a_repair_run(lab, person)
    restored(lab, backed_up(lab))
    with lab.store.read() as session:
        assert session.scalars(select(RepairRun.verdict)).one() is RepairVerdict.BROKEN
        assert session.scalars(select(RepairLock).where(RepairLock.released_at.is_(None))).all() == []


def test_a_repair_that_was_under_way_is_no_stuck_operation_that_nobody_can_release(lab: Cluster) -> None:
    person = an_administrator(lab, "ops")
    run = a_repair_run(lab, person)
    with lab.store.write() as session:
        row = session.get_one(RepairRun, run.id)
        asked = lifecycle.request_operation(
            session, OperationKind.REPAIR, run.id, actor_of(person), lab.clock()
        )
        row.operation_id = asked.id
    restored(lab, backed_up(lab))
    assert [each != asked.id for each in release_stuck_operations(lab, str(run.id))] == [True]
    assert count_stuck_operations(lab) == 0


def test_messages_that_waited_when_it_was_made_are_not_sent_again(lab: Cluster) -> None:
    now = lab.clock()
    told = AlertOccurrence(key="a:1", alert={}, began_at=now, notified_at=now)
    add(lab, told)
    add(
        lab,
        Notification(occurrence_id=told.id, channel=NotificationChannel.WEBHOOK, made_at=now, next_at=now),
    )
    restored(lab, backed_up(lab))
    assert outbox.list_due_notifications(lab, NotificationChannel.WEBHOOK) == []


def test_the_backup_that_is_put_back_was_under_way_itself_and_nobody_has_to_ask_for_it_again(
    lab: Cluster,
) -> None:
    actor = actor_of(an_administrator(lab))
    with lab.store.write() as session:
        for kind in (OperationKind.BACKUP, OperationKind.NOTICES, OperationKind.DATASET_DELETE):
            lifecycle.request_operation(session, kind, None, actor, lab.clock())
    restored(lab, backed_up(lab))
    with lab.store.read() as session:
        states = {operation.kind: operation.state for operation in session.scalars(select(Operation))}
    assert (states["backup"], states["notices"]) == (OperationState.FINISHED, OperationState.FINISHED)
    assert states["dataset.delete"] is OperationState.INTERRUPTED


def test_jobs_go_on_where_the_administrator_says_so(lab: Cluster) -> None:
    assert restored(lab, backed_up(lab), holds=False).counts.held == 0
    with lab.store.read() as session:
        assert session.scalars(select(Job).where(Job.name == "waiting")).one().held_at is None


def test_no_number_is_given_out_twice(lab: Cluster) -> None:
    file = backed_up(lab)
    (lab.settings.storage_dir / "workspaces" / "1" / "jobs" / "4711").mkdir(parents=True)
    restored(lab, file)
    workspace = a_workspace(lab)
    training = a_training(lab, workspace)
    job = a_job(lab, training)
    assert job.id > 5711 and workspace.id > 1000
    assert training.id > 1000 and a_dataset(lab, workspace).id > 1000
    actor = actor_of(an_administrator(lab))
    with lab.store.write() as session:
        asked = lifecycle.request_operation(session, OperationKind.DATASET_DELETE, 1, actor, lab.clock())
        assert asked.id > 1000
    if not lab.store.is_sqlite:
        assert a_repair_run(lab, an_administrator(lab, "second")).id > 1000


def test_what_is_no_whole_backup_of_ours_is_refused_by_name(lab: Cluster, tmp_path: Path) -> None:
    file = backed_up(lab)
    manifest = json.loads(file.with_name(file.name + ".json").read_text())
    assert refusal(lab, tmp_path / "nothing") == "restore.no_file"
    (tmp_path / "dump.sql").write_text("SELECT 1;")
    assert refusal(lab, tmp_path / "dump.sql") == "restore.foreign"
    write_backup_manifest(file.parent, manifest | {"revision": "0999"})
    assert refusal(lab, file) == "restore.newer"
    write_backup_manifest(file.parent, manifest | {"revision": "0018"})
    assert refusal(lab, file) == "restore.too_old"
    write_backup_manifest(file.parent, manifest | {"database": "oracle"})
    assert refusal(lab, file) == "restore.damaged"
    write_backup_manifest(file.parent, manifest | {"rows": manifest["rows"] | {"users": 99}})
    assert refusal(lab, file) == "restore.damaged"
    write_backup_manifest(file.parent, manifest)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert refusal(lab, file) == "restore.damaged"
    file.with_name(file.name + ".json").unlink()
    assert refusal(lab, file) == "restore.no_manifest"


def test_on_a_machine_that_has_no_database_yet(lab: Cluster, database_kind: str, tmp_path: Path) -> None:
    file = backed_up(lab)
    lab.store.close()
    url = make_url(lab.settings.owner_url)
    if database_kind == "sqlite":
        shutil.rmtree(lab.settings.state_dir / "database")
    else:
        with pg.connect_psycopg(url) as connection:
            for statement in pg.drop_statements(connection):
                connection.execute(statement)
    assert restored(lab, file).pre_restore_copy is None
    if database_kind == "sqlite":
        assert (lab.settings.state_dir / "database" / "groundcrew.db").stat().st_mode & 0o777 == 0o600
    with lab.store.read() as session:
        assert "hjkim" in set(session.scalars(select(User.name)))


@pytest.fixture
def owned(lab: Cluster) -> Iterator[Cluster]:
    """The same database by the owner of its tables, as a restore prepares it."""
    with closing(Store(lab.settings.owner_url)) as store:
        yield replace(lab, store=store)


def origin_of(lab: Cluster, last_job: int = 0) -> RestoredBackup:
    return RestoredBackup("groundcrew-1.sql.zst", "0" * 64, lab.clock(), last_job)


def test_each_step_of_the_preparation_counts_what_it_changed_and_finds_nothing_the_second_time(
    lab: Cluster, clock: Clock
) -> None:
    origin, actor = origin_of(lab), service_actor(lab)
    clock.move(hours=1)
    for expected in (1, 0):
        with lab.store.write() as session:
            assert end_live_attempts(session, origin, clock()) == expected
            assert hold_waiting_jobs(session, actor, origin, clock()) == expected
            assert interrupt_operations(session, clock()) == expected
            assert end_all_sessions(session, clock()) == expected


def test_ids_are_skipped_beyond_rows_and_folders(lab: Cluster, owned: Cluster) -> None:
    with owned.store.write() as session:
        last = max(session.scalars(select(Job.id)))
        skip_ids(session, last_job=last + 50)
    assert a_job(lab, a_training(lab, a_workspace(lab))).id == last + 50 + ID_GAP + 1


def test_the_old_epoch_is_described_by_its_last_seal_and_by_places_that_it_leaves(
    lab: Cluster, owned: Cluster
) -> None:
    newest = read_newest_seal(lab)
    assert newest is not None
    anchors = [SealAnchor("the log", *newest, lab.clock()), SealAnchor("left", 7, "mac", lab.clock())]
    epoch = describe_old_epoch(lab, origin_of(lab), anchors)
    assert (epoch["epoch"], epoch["seal"], epoch["left"], epoch["was"]) == (2, newest[0], ["left"], "")
    assert prepare_restored_database(owned, origin_of(lab), []).epoch == 2
    assert describe_old_epoch(lab, origin_of(lab), [])["epoch"] == 3
