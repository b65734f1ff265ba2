"""Opens and copies the file of a SQLite database."""

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from cluster.settings import VERSION
from cluster.store.sql.sqlite_writers import SqliteWriters

BUSY_TIMEOUT_MS = 10_000
KEPT_CONNECTIONS = 8
"""Connections per process. More are opened for a short time if needed. Each may take 2 MiB for pages."""
BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None for PostgreSQL."""
    parsed = make_url(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


def open_sqlite(url: str, patience: int | None = None) -> Engine:
    """Opens SQLite with WAL, durable commits and foreign keys. It keeps no connection before `keep_connections`, so
    that none is used across a fork.
    """
    busy_ms = BUSY_TIMEOUT_MS if patience is None else 1000 * patience
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=KEPT_CONNECTIONS,
        max_overflow=-1,
        pool_use_lifo=True,
        connect_args={"timeout": busy_ms / 1000},
    )
    event.listen(engine, "checkin", close_connection)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:
        # The driver's own transaction handling would begin too late; `begin` below does it.
        connection.isolation_level = None
        use_write_ahead_log(connection, busy_ms)
        for pragma in (
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={busy_ms}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            # The driver itself is asked, because a page reads a dozen times. This call does not wait and cannot fail.
            driver: Any = connection.connection.driver_connection
            driver.execute("BEGIN")

    return engine


def open_writers(engine: Engine, patience: int | None = None) -> SqliteWriters:
    """`engine` is one whose transactions begin like those of writers."""
    seconds = BUSY_TIMEOUT_MS / 1000 if patience is None else patience
    return SqliteWriters(engine, Path(engine.url.database or ".").parent, seconds)


def close_connection(connection: object, record: ConnectionPoolEntry) -> None:
    if connection is not None:
        record.close()


def keep_connections(engine: Engine) -> None:
    """Keeps connections from now on, because opening one takes as long as ten queries."""
    if event.contains(engine, "checkin", close_connection):
        event.remove(engine, "checkin", close_connection)


def use_write_ahead_log(connection: sqlite3.Connection, busy_ms: int = BUSY_TIMEOUT_MS) -> None:
    """Switches the file to WAL, and waits while another process does so, because SQLite itself does not wait.

    Any other error, such as a full disk, is raised at once.
    """
    deadline = time.monotonic() + busy_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in BUSY_CODES or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def copy_sqlite(url: str, copy_to: Path | None) -> Path:
    """A complete and consistent copy, also during writes: `before-<version>-<UTC time>.db`, mode 0600."""
    source = sqlite_file(url)
    assert source is not None
    folder = copy_to or source.parent
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"before-{VERSION}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.db"
    unfinished = copy.with_suffix(".unfinished")
    unfinished.touch(mode=0o600)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(unfinished)) as new:
        old.backup(new)
    unfinished.rename(copy)
    return copy
