"""A SQLite file with all rows of an installation, kept in the machine's cache until the schema or the rows change."""

import fcntl
import hashlib
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import update

from cluster.domain import audit_seals
from cluster.services.context import Cluster
from cluster.store import engine as store_engine
from cluster.store.migrate import upgrade_database
from cluster.store.nodes import Node
from tests.bench.full_size import rows, sizes
from tests.bench.full_size.rows import TableRows, all_rows
from tests.bench.full_size.sizes import FULL, InstallationSize
from worker.bootstrap.paths import find_installation_paths

FOUR_NODES = replace(FULL, nodes=4)
KEPT_SECONDS = 6 * 3600
"""Files of other versions are deleted once nobody has used them for so long."""
BULK = ("journal_mode=OFF", "synchronous=OFF", "cache_size=-400000", "temp_store=MEMORY", "foreign_keys=OFF")


def write_rows(path: Path, size: InstallationSize) -> None:
    """Migrate a new SQLite file and fill it; a file that a crash left half-way is worth nothing."""
    upgrade_database(f"sqlite:///{path}")
    fill_file(path, size)


def fill_file(path: Path, size: InstallationSize) -> None:
    """The rows alone, into a migrated file without any."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in BULK:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        for part in all_rows(size):
            insert_rows(connection, part)
        connection.execute("COMMIT")
        connection.execute("ANALYZE")


def insert_rows(connection: sqlite3.Connection, part: TableRows) -> None:
    """What the rows leave out gets the model's default, or the database's own."""
    defaults = part.defaults
    names = ", ".join((*part.columns, *defaults))
    marks = ", ".join("?" * (len(part.columns) + len(defaults)))
    rest = tuple(defaults.values())
    connection.executemany(
        f"INSERT INTO {part.table.name} ({names}) VALUES ({marks})", (tuple(row) + rest for row in part.rows)
    )


@contextmanager
def full_size_file(size: InstallationSize = FULL, cache_dir: Path | None = None) -> Iterator[Path]:
    """The cached file, made where there is none; nobody writes to it or deletes it meanwhile.

    It takes about a minute to make and a second to copy.
    """
    cache_dir = cache_dir or find_installation_paths().cache_dir
    cache_dir.mkdir(parents=True, exist_ok=True)
    folder = cache_dir / f"full-size-{digest_of_inputs(size)}"
    path = folder / "groundcrew.db"
    with (cache_dir / f"{folder.name}.lock").open("w") as lock:
        if not path.exists():
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                make_file(path, size)
                delete_unused(cache_dir)
        fcntl.flock(lock, fcntl.LOCK_SH)
        folder.touch()
        yield path


def digest_of_inputs(size: InstallationSize) -> str:
    """Of everything that says what is in the file: the schema, the rows, the seals, the size."""
    schema = sorted(Path(store_engine.__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(repr(size).encode())
    for file in (*schema, *(Path(str(module.__file__)) for module in (rows, sizes, audit_seals))):
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def make_file(path: Path, size: InstallationSize) -> None:
    path.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        write_rows(unfinished, size)
        unfinished.rename(path)


def delete_unused(cache_dir: Path) -> None:
    for folder in cache_dir.glob("full-size-*/"):
        if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
            with (cache_dir / f"{folder.name}.lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(folder)


def copy_full_size(target: Path, size: InstallationSize = FULL) -> None:
    with full_size_file(size) as path:
        shutil.copyfile(path, target)


def keep_nodes_ready(cluster: Cluster, until: datetime | None = None) -> None:
    """No agent speaks for these nodes: their last heartbeat lies ahead (six hours unless told otherwise)."""
    with cluster.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=until or cluster.clock() + timedelta(hours=6)))
