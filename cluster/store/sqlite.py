"""SQLite's own: opens its file, copies it."""

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from cluster.settings import VERSION

BUSY_TIMEOUT_MS = 10_000
BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None for PostgreSQL."""
    parsed = make_url(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


def open_sqlite(url: str, patience: int | None = None) -> Engine:
    """WAL, durable commits, foreign keys; no connection is kept, so none crosses a fork."""
    busy_ms = BUSY_TIMEOUT_MS if patience is None else 1000 * patience
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": busy_ms / 1000})

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
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def use_write_ahead_log(connection: sqlite3.Connection, busy_ms: int = BUSY_TIMEOUT_MS) -> None:
    """SQLite itself does not wait while another process turns the same new file to WAL; this does.

    Any other error, a full disk, is told at once.
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
    """A whole and consistent copy, also while others write: `before-<version>-<UTC time>.db`, mode 0600."""
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
