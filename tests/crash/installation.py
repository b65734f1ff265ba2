"""One small installation that is put back to its beginning in milliseconds, on either kind of database.

Two nodes with two CPU slots each, two workspaces, a member with a token who submits over REST. Time is the
simulated world's: it moves only when a test moves it.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from flask import Flask
from sqlalchemy import text
from sqlalchemy.engine import make_url

from cluster.domain.executors import ExecutorKind
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentState, TrainingKind, UnitKind
from cluster.services.context import Cluster
from cluster.services.nodes.heartbeats import ReportedUnit, record_heartbeat
from cluster.services.people import api_tokens
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.migrate import upgrade_database
from cluster.store.tables import metadata
from portal import create_app
from tests.builders import a_training, a_workspace, actor_of, add, an_administrator
from tests.conftest import settings_for
from tests.crash.invariants.event_bus_check import TellingBell
from tests.crash.invariants.execution_log import Journal, WatchedWorld
from tests.databases import PostgresqlServer

BEGINNING = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
NODES = ("node-a", "node-b")
SLOTS = 2


@dataclass(frozen=True)
class Ground:
    """What every process of one installation needs to begin; nothing in it is open."""

    settings: Settings
    cluster: Cluster
    app: Flask
    journal: Journal
    world: WatchedWorld
    token: str
    administrator: Actor
    wide: int
    """The training in the workspace of three units, which own code runs in."""
    narrow: int
    """The one in the workspace of two."""

    @property
    def is_sqlite(self) -> bool:
        return self.cluster.store.is_sqlite

    @property
    def folder(self) -> Path:
        return self.settings.state_dir

    @property
    def bell(self) -> TellingBell:
        assert isinstance(self.cluster.events, TellingBell)
        return self.cluster.events

    def put_back(self) -> None:
        """Rows and files as they were in the beginning; whoever is still connected is thrown out."""
        self.cluster.store.close()
        self.bell.close()
        for part in ("storage", "simulated"):
            shutil.rmtree(self.folder / part, ignore_errors=True)
        shutil.copytree(self.folder / "beginning" / "simulated", self.folder / "simulated")
        self.journal.clear()
        if self.is_sqlite:
            put_file_back(Path(self.cluster.store.url.database or ""))
        else:
            put_tables_back(self.cluster.store)


def put_file_back(path: Path) -> None:
    for beside in path.parent.glob(f"{path.name}*"):
        beside.unlink()
    shutil.copy(path.parent / "beginning", path)


def put_tables_back(store: Store) -> None:
    with store.engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
        connection.execute(text("SET session_replication_role = replica"))
        for table in metadata.tables:
            connection.execute(text(f"DELETE FROM {table}"))
            connection.execute(text(f"INSERT INTO {table} SELECT * FROM beginning.{table}"))
        connection.execute(text("SELECT setval(name::regclass, last, called) FROM beginning.numbers"))
        connection.commit()
    store.close()


@contextmanager
def a_folder() -> Iterator[Path]:
    """In memory where the machine has such a place: processes die here, never the machine itself."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(prefix="gc-crash-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@contextmanager
def sqlite_ground() -> Iterator[Ground]:
    with a_folder() as folder:
        path = folder / "database" / "groundcrew.db"
        path.parent.mkdir()
        upgrade_database(f"sqlite:///{path}")
        with a_ground(f"sqlite:///{path}", folder) as ground:
            yield ground


@contextmanager
def postgresql_ground(server: PostgresqlServer) -> Iterator[Ground]:
    with a_folder() as folder, server.empty() as url:
        upgrade_database(url)
        with a_ground(url, folder) as ground:
            yield ground


@contextmanager
def a_ground(url: str, folder: Path) -> Iterator[Ground]:
    """`url` is a migrated database without a row."""
    settings = replace(settings_for(url, folder), executor=ExecutorKind.SIMULATED, time_zone="UTC")
    journal = Journal(folder / "journal")
    world = WatchedWorld(folder / "simulated", journal)
    stand_still(folder / "simulated", BEGINNING)
    store = Store(url)
    cluster = Cluster(store, TellingBell(make_url(url), journal), settings, lambda: moment(world))
    ground = furnish(cluster, journal, world)
    remember_beginning(ground)
    yield ground
    store.close()


def stand_still(folder: Path, at: datetime) -> None:
    (folder / "clock.json").write_text(json.dumps({"at": at.timestamp()}))


def moment(world: WatchedWorld) -> datetime:
    return datetime.fromtimestamp(world.now(), UTC)


def furnish(cluster: Cluster, journal: Journal, world: WatchedWorld) -> Ground:
    settings = cluster.settings
    environment = settings.state_dir / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to("/usr/bin/python3")
    row = Environment(name="default", digest="d", state=EnvironmentState.READY, path=str(environment))
    row.created_at = cluster.clock()
    add(cluster, row, InstallationFact(name="default_environment", value={"digest": "d"}))
    for name in NODES:
        world.add_node(name)
    beat(cluster, world)
    person = an_administrator(cluster, "chief")
    wide, narrow = (a_workspace(cluster, person, units=units) for units in (3, 2))
    trainings = [a_training(cluster, each, person, kind=TrainingKind.ADVANCED) for each in (wide, narrow)]
    actor = actor_of(person)
    _, token = api_tokens.create_api_token(cluster, actor, "laptop", ["read", "write"], 30)
    app = create_app(cluster, testing=True)
    return Ground(settings, cluster, app, journal, world, token, actor, trainings[0].id, trainings[1].id)


def beat(cluster: Cluster, world: WatchedWorld) -> None:
    """What the agents of the nodes that are on and reachable would report now."""
    units = [ReportedUnit(f"cpu-{number}", UnitKind.CPU_SLOT, number) for number in range(SLOTS)]
    for node in world.list_answering():
        record_heartbeat(cluster, node.name, node.boot, {}, units)


def remember_beginning(ground: Ground) -> None:
    ground.cluster.store.close()
    shutil.copytree(ground.folder / "simulated", ground.folder / "beginning" / "simulated")
    if ground.is_sqlite:
        path = Path(ground.cluster.store.url.database or "")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(path, path.parent / "beginning")
        return
    with ground.cluster.store.engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA beginning"))
        for table in metadata.tables:
            connection.execute(text(f"CREATE TABLE beginning.{table} AS TABLE {table}"))
        connection.execute(
            text(
                "CREATE TABLE beginning.numbers AS SELECT schemaname || '.' || sequencename AS name,"
                " coalesce(last_value, 1) AS last, last_value IS NOT NULL AS called FROM pg_sequences"
                " WHERE schemaname = 'public'"
            )
        )
    ground.cluster.store.close()


def later(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)
