"""Each kept dump of a released schema is loaded, migrated to the newest, and read."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from cluster.domain.states import TrainingKind
from cluster.event_bus import NullEventBus
from cluster.services.audit.seals import find_first_violation
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store import migrate
from cluster.store.alerts import Notification
from cluster.store.base import BaseRow
from cluster.store.engine import Store
from cluster.store.jobs import Job, Sweep
from cluster.store.repairs import RepairRun
from cluster.store.tables import metadata
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.conftest import Clock, settings_for
from tests.store.schema_description import (
    describe_declared_schema,
    describe_schema,
    without_conditions,
)
from tests.upgrades.dump import UPGRADES, write_dump
from worker.backups.restore import read_own_manifest, restore_backup
from worker.backups.scratch_restore import restore_to_scratch

RELEASED = sorted(path.name for path in UPGRADES.iterdir())


@pytest.fixture
def installation(database_kind: str, empty_url: str, tmp_path: Path) -> Settings:
    """Its database has no table yet."""
    if database_kind == "sqlite":
        (tmp_path / "database").mkdir()
        empty_url = f"sqlite:///{tmp_path}/database/groundcrew.db"
    return settings_for(empty_url, tmp_path)


def copy_dump(settings: Settings, revision: str, kind: str) -> Path:
    """The backup's file, with its manifest beside it, among the installation's backups."""
    settings.backups.mkdir(parents=True, exist_ok=True)
    for file in (UPGRADES / revision / kind).iterdir():
        shutil.copy(file, settings.backups)
    (manifest,) = settings.backups.glob("*.json")
    return manifest.with_suffix("")


@pytest.fixture(params=RELEASED)
def upgraded(request: pytest.FixtureRequest, installation: Settings, database_kind: str) -> Iterator[Cluster]:
    """The dump's rows at the newest migration, in a scratch database."""
    file = copy_dump(installation, request.param, database_kind)
    manifest = read_own_manifest(file)
    assert manifest["revision"] == request.param
    with restore_to_scratch(installation, file, manifest, is_to_stay=True) as scratch:
        result = migrate.upgrade_database(scratch.url)
        assert (result.before, result.after) == (request.param, migrate.head_revision())
        with closing(Store(scratch.url)) as store:
            yield Cluster(store, NullEventBus(), settings_for(scratch.url, installation.state_dir), Clock())


BEGIN_EMPTY = {
    *(
        "jobs.failure_dismissed_at",
        "datasets.failure_dismissed_at",
        "operations.retried_at",
        "operations.retried_by",
    ),
    *(
        f"jobs.{name}"
        for name in ("headline_metric", "headline_value", "headline_is_best", "headline_score", "note")
    ),
    *("users.time_zone", "notifications.content"),
    *("trainings.archived_at", "trainings.deleted_at", "jobs.continues_job_id", "jobs.continues_from"),
    *(
        f"code_versions.{name}"
        for name in ("base", "files", "bytes", "manifest", "operation_id", "error_code", "error_data")
    ),
    *("code_versions.commit_id", "code_versions.commit_author", "code_versions.commit_subject"),
    *(f"environments.{name}" for name in ("size_bytes", "requirements", "pins", "created_by", "deleted_at")),
    "environments.base_id",
    *(f"{table}.environment_id" for table in ("trainings", "jobs", "attempts")),
    *("trainings.objective_metric", "trainings.objective_is_lower_better"),
    *("workspaces.storage_limit_bytes", "workspaces.storage_used_bytes", "workspaces.storage_measured_at"),
    "nodes.forgotten_at",
}
"""Columns that later migrations added, and of whose values older installations knew nothing."""


def test_the_first_migration_has_a_dump_and_all_dumps_are_of_known_migrations() -> None:
    known = migrate.known_revisions()
    assert known[0] in RELEASED
    assert set(RELEASED) <= set(known)
    for revision in RELEASED:
        assert {path.name for path in (UPGRADES / revision).iterdir()} == {"sqlite", "postgresql"}


def test_every_row_is_read_and_every_column_had_a_value(upgraded: Cluster, installation: Settings) -> None:
    """Tables and columns that later migrations made begin empty."""
    empty: set[str] = set()
    tables = manifest_in(installation.backups)["rows"]
    with upgraded.store.read() as session:
        for mapper in BaseRow.registry.mappers:
            rows = session.scalars(select(mapper.class_)).all()
            assert rows or str(mapper.local_table) not in tables, mapper.local_table
            if not rows:
                continue
            for name in (each.key for each in mapper.column_attrs):
                if all(getattr(row, name) is None for row in rows):
                    empty.add(f"{mapper.local_table}.{name}")
    assert sorted(empty - BEGIN_EMPTY) == []


def test_the_upgraded_schema_is_what_the_rows_declare(upgraded: Cluster, empty_url: str) -> None:
    with upgraded.store.engine.connect() as connection:
        migrated = describe_schema(connection)
    declared = describe_declared_schema(empty_url)
    if upgraded.store.is_sqlite:
        assert migrated == declared
    else:
        assert without_conditions(migrated) == without_conditions(declared)


def test_people_and_jobs_are_who_and_what_they_were(upgraded: Cluster) -> None:
    with upgraded.store.read() as session:
        people = {user.name: user for user in session.scalars(select(User))}
        assert {"hjkim", "minji", "gone"} <= set(people)
        assert people["hjkim"].full_name == "김현주" and people["hjkim"].is_administrator
        assert people["minji"].full_name == "Minji O'Neill; \\"
        jobs = {job.name: job for job in session.scalars(select(Job))}
        assert {name: job.state for name, job in jobs.items()} == {
            "ended": "stopped",
            "running": "running",
            "first": "waiting",
            "foremost": "waiting",
            "held": "waiting",
        }
        ended = jobs["ended"]
        assert (ended.end_code, ended.end_data, ended.exit_code) == ("exit.stopped", {"signal": 15}, 143)
        assert (ended.max_memory_bytes, ended.results) == (3 << 30, {"loss": [0.1, 2.5, 0.2]})
        assert ended.started_at is not None and ended.started_at.isoformat() == "2026-11-20T03:00:00+00:00"
        assert jobs["foremost"].position < jobs["first"].position
        (attempt,) = ended.attempts
        assert (attempt.stop_cause_code, attempt.stop_cause_data) == ("disk.short", {"free": 1})
        assert [allocation.ended_at is None for allocation in jobs["running"].attempts[0].allocations] == [
            True,
            True,
        ]
        workspace = session.scalars(select(Workspace)).one()
        assert (workspace.last_turn_attempt_id, workspace.manager.name) == (1, "hjkim")
        assert [member.name for member in workspace.members] == ["hjkim", "minji"]
        sweep = session.scalars(select(Sweep)).one()
        assert sweep.plan == {"kind": "grid", "values": {"rate": [0.1, 0.01]}}
        assert [str(run.verdict) for run in session.scalars(select(RepairRun).order_by(RepairRun.id))] == [
            "looked_ahead",
            "None",
        ]
        assert session.scalars(select(Notification.channel).order_by(Notification.id)).all() == [
            "mail",
            "webhook",
        ]


def test_the_audit_is_still_what_was_sealed(upgraded: Cluster) -> None:
    assert find_first_violation(upgraded, []) is None


def test_no_id_of_the_dump_is_given_out_again(upgraded: Cluster) -> None:
    """Ids of trainings name folders, also those of trainings that are gone."""
    with upgraded.store.write() as session:
        gone = session.scalars(select(Training).where(Training.name == "own")).one()
        last, workspace_id, owner_id = gone.id, gone.workspace_id, gone.owner_id
        assert last == session.scalar(select(func.max(Training.id)))
        session.delete(gone)
        session.flush()
        later = Training(
            workspace_id=workspace_id,
            owner_id=owner_id,
            name="later",
            kind=TrainingKind.ADVANCED,
            created_at=upgraded.clock(),
        )
        session.add(later)
        session.flush()
        assert later.id == last + 1


@pytest.mark.parametrize("revision", RELEASED)
def test_a_dump_is_restored_as_the_backup_that_it_is(
    installation: Settings, database_kind: str, revision: str, clock: Clock
) -> None:
    file = copy_dump(installation, revision, database_kind)
    result = restore_backup(installation, file, clock)
    assert result.pre_restore_copy is None and result.rows > 40
    assert migrate.is_schema_current(installation)
    with closing(Store(installation.database_url)) as store, store.read() as session:
        states = {job.name: job.state for job in session.scalars(select(Job))}
    assert states["ended"] == "stopped" and states["running"] == "failed"


def test_the_script_writes_what_the_tests_read(
    installation: Settings, database_kind: str, tmp_path: Path
) -> None:
    target = tmp_path / "dump"
    write_dump(installation.database_url, tmp_path, target)
    made, kept = manifest_in(target), manifest_in(UPGRADES / RELEASED[-1] / database_kind)
    assert set(made["rows"]) == {*metadata.tables, "alembic_version"}
    if made["revision"] == kept["revision"]:
        assert made["rows"] == kept["rows"]


def manifest_in(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("*.json")
    manifest: dict[str, Any] = json.loads(file.read_text())
    return manifest
