"""Fixtures that every part uses: a migrated database of each kind, a cluster with a clock to set."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis
import pytest
import structlog
from argon2 import PasswordHasher
from structlog.dev import ConsoleRenderer, plain_traceback

from cluster.files import safe_files
from cluster.services.context import Cluster
from cluster.services.people import credentials
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.migrate import upgrade_database
from tests.databases import PostgresqlMissing, PostgresqlServer, owner_url, postgresql_server
from tests.machine.memory_folder import write_to_memory
from tests.machine.unix_id_ranges import TEST_IDS
from tests.statement_cache import compile_once

ANSIBLE = Path(__file__).resolve().parents[1] / "ansible"
IS_CI = os.environ.get("CI") == "true"
# What the shim finds beside it where it is installed, a test that imports it from the clone finds by the same name.
sys.modules.setdefault("safe_files", safe_files)


def pytest_configure() -> None:
    write_to_memory()
    compile_once()
    print_tracebacks_plainly()
    # How long an example takes depends on what else the machine does.
    hypothesis.settings.register_profile("groundcrew", deadline=None)
    hypothesis.settings.load_profile("groundcrew")


def print_tracebacks_plainly() -> None:
    """structlog colours the source around each frame of a traceback, which costs a second of computing for each."""
    *before, renderer = structlog.get_config()["processors"]
    assert isinstance(renderer, ConsoleRenderer)
    plain = ConsoleRenderer(colors=False, exception_formatter=plain_traceback)
    structlog.configure(processors=[*before, plain])


def pytest_collection_finish() -> None:
    """What is imported by now stays: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """So that `make test` can say how many cases it leaves to `make test-all`."""
    if report := os.environ.get("GROUNDCREW_CASES_LEFT"):
        Path(report).write_text(str(len(items)))


@dataclass
class Clock:
    """Stands still until a test moves it."""

    now: datetime = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **step: float) -> None:
        """`clock.move(hours=12)`, as timedelta takes them."""
        self.now += timedelta(**step)


class SteadyClock:
    """A clock of seconds that stands until a test moves it; each look at it takes `step`."""

    now, step = 1000.0, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@dataclass
class RecordingBell:
    """Remembers what was rung, in order."""

    rung: list[tuple[str, int]] = field(default_factory=list)
    enqueued: list[tuple[str, int]] = field(default_factory=list)

    def publish(self, topic: str, row_id: int) -> None:
        self.rung.append((topic, row_id))

    def publish_all(self, *rings: tuple[str, int]) -> None:
        self.rung.extend(rings)

    def enqueue(self, queue: str, operation_id: int) -> None:
        self.enqueued.append((queue, operation_id))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """Skips with the reason where no server is installed; in CI that is a failure."""
    try:
        with postgresql_server() as server:
            yield server
    except PostgresqlMissing as missing:
        (pytest.fail if IS_CI else pytest.skip)(str(missing))


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database as `upgrade_database` makes it; tests take copies."""
    path = tmp_path_factory.mktemp("sqlite") / "groundcrew.db"
    upgrade_database(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated, empty database of the test's own."""
    if database_kind == "sqlite":
        path = tmp_path / "database" / "groundcrew.db"
        path.parent.mkdir()
        shutil.copy(request.getfixturevalue("migrated_file"), path)
        yield f"sqlite:///{path}"
    else:
        with request.getfixturevalue("postgresql").migrated() as url:
            yield url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = Store(database_url)
    yield store
    store.close()


@pytest.fixture
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests with many passwords: Argon2's real cost is tried by its own test."""
    monkeypatch.setattr(credentials, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    credentials.dummy_hash.cache_clear()
    yield
    credentials.dummy_hash.cache_clear()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def steady() -> SteadyClock:
    return SteadyClock()


@pytest.fixture
def bell() -> RecordingBell:
    return RecordingBell()


def settings_for(url: str, state_dir: Path) -> Settings:
    return Settings(
        state_dir=state_dir,
        cache_dir=state_dir / "cache",
        database_url=url,
        owner_database_url=owner_url(url),
        redis_url=f"unix://{state_dir}/run/redis.sock",
        secret_key="a key for tests only, long enough",
        time_zone="Asia/Seoul",
        ansible_dir=ANSIBLE,
        uid_base=TEST_IDS.uid_base,
        gid_base=TEST_IDS.gid_base,
    )


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return settings_for(database_url, tmp_path)


@pytest.fixture
def cluster(store: Store, bell: RecordingBell, settings: Settings, clock: Clock) -> Cluster:
    """A cluster on each kind of database; its clock stands at 14:00 on 2026-11-20 in Seoul."""
    return Cluster(store=store, events=bell, settings=settings, clock=clock)


@contextmanager
def sqlite_cluster(folder: Path, migrated_file: Path) -> Iterator[Cluster]:
    """For tests to which the kind of database does not matter: pages, words, files."""
    path = folder / "groundcrew.db"
    shutil.copy(migrated_file, path)
    url = f"sqlite:///{path}"
    store = Store(url)
    try:
        yield Cluster(store=store, events=RecordingBell(), settings=settings_for(url, folder), clock=Clock())
    finally:
        store.close()


@pytest.fixture
def light_cluster(tmp_path: Path, migrated_file: Path) -> Iterator[Cluster]:
    """One on SQLite only."""
    with sqlite_cluster(tmp_path, migrated_file) as cluster:
        yield cluster
