"""Ground for real runs: a storage folder that the jobs' own users may enter, and the installed runtime."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.event_bus import RedisEventBus
from cluster.services.context import Cluster
from cluster.settings import Settings
from tests.conftest import IS_CI
from tests.machine.unix_id_ranges import TEST_IDS
from worker.adapters.job_runtime import install_runtime
from worker.composition import open_cluster


@pytest.fixture
def ground() -> Iterator[Path]:
    with a_ground() as folder:
        yield folder


@contextmanager
def a_ground() -> Iterator[Path]:
    """Not pytest's own folder: only its owner may enter that one."""
    folder = Path(tempfile.mkdtemp(prefix="gc-test-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def runtime(ground: Path) -> Path:
    """What jobs import, installed where their users can read it."""
    return runtime_on(ground)


def runtime_on(ground: Path) -> Path:
    return install_runtime(ground / "runtime")


@pytest.fixture
def redis_url(ground: Path) -> Iterator[str]:
    """A real server on a unix socket of its own; without one: skipped with the reason, in CI a failure."""
    with redis_server(ground / "run" / "redis.sock") as url:
        yield url


@contextmanager
def redis_server(socket: Path) -> Iterator[str]:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        (pytest.fail if IS_CI else pytest.skip)("Redis is not installed: apt-get install redis-server")
    socket.parent.mkdir(exist_ok=True)
    switches = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(socket.parent)]
    server = subprocess.Popen([program, *switches], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not socket.exists():
            assert time.monotonic() < deadline, "Redis did not start within a minute"
            time.sleep(0.02)
        yield f"unix://{socket}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def settings(ground: Path, migrated_file: Path, redis_url: str) -> Settings:
    return settings_on(ground, migrated_file, redis_url)


def settings_on(ground: Path, migrated_file: Path, redis_url: str) -> Settings:
    """With a migrated database on this ground."""
    database = ground / "database" / "groundcrew.db"
    database.parent.mkdir(mode=0o700)
    shutil.copy(migrated_file, database)
    return Settings(
        state_dir=ground,
        cache_dir=ground / "cache",
        database_url=f"sqlite:///{database}",
        redis_url=redis_url,
        secret_key="a key for tests only, long enough",
        uid_base=TEST_IDS.uid_base,
        gid_base=TEST_IDS.gid_base,
    )


@pytest.fixture
def cluster(settings: Settings) -> Iterator[Cluster]:
    """With the real clock and the real doorbell."""
    with a_cluster(settings) as cluster:
        yield cluster


@contextmanager
def a_cluster(settings: Settings) -> Iterator[Cluster]:
    """Every connection of it is closed at the end: one that is only forgotten fails whichever test comes later."""
    cluster = open_cluster(settings)
    assert isinstance(cluster.events, RedisEventBus)
    try:
        yield cluster
    finally:
        cluster.store.close()
        cluster.events.connection.close()
