"""Opens the database: the same code for SQLite (embedded) and PostgreSQL."""

import errno
import os
import select
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool

from cluster import failpoints

BUSY_TIMEOUT_MS = 10_000
POSTGRESQL = Path("/var/lib/postgresql")
"""Where the distribution's server keeps its databases."""
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL_SQLSTATE = "53100"
"""What PostgreSQL says (appendix A of its manual); its driver is imported by those alone who use it."""
BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
CANNOT_OPEN_CODES = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
"""What SQLite says, beside SQLITE_FULL, where it cannot make the files beside the database."""
MIN_FREE_BYTES = 256 * 1024
"""Bytes. With less than that free SQLite cannot open a database that nobody else has open."""
POOLED_CONNECTIONS = 16
"""Per process; as many more are made for a moment where all of these are in use."""


class Store:
    """Two kinds of transaction: `read()` never writes, `write()` commits at its end or rolls back.

    On SQLite every `write()` is BEGIN IMMEDIATE, so writers queue up instead of failing half-way.
    On PostgreSQL a named `lock` orders the writers that check a sum before they add to it.
    What is read by columns alone needs no session: `read_columns()` is a plain connection that never writes.
    Both sides of every commit are crash points (cluster/failpoints.py).
    """

    def __init__(self, url: str, patience: int | None = None) -> None:
        """`patience`: so many seconds a lock or a silent server is waited for, where that is not the usual."""
        self.address = url
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = open_sqlite(url, patience) if self.is_sqlite else open_postgresql(url, patience)
        self._reading = sessionmaker(self.engine, expire_on_commit=False, autoflush=False)
        self._kept = threading.local()
        self._staying: sqlite3.Connection | None = None
        self._writing = sessionmaker(self.engine.execution_options(writes=True), expire_on_commit=False)

    @contextmanager
    def read(self) -> Iterator[Session]:
        kept: _Kept | None = getattr(self._kept, "by_thread", None)
        if kept is None or kept.is_in_use:
            with self._reading() as session:
                yield session
            return
        kept.is_in_use = True
        try:
            with self._reading(bind=kept.connection(self.engine)) as session:
                yield session
        finally:
            kept.is_in_use = False

    @contextmanager
    def reuse_connection(self) -> Iterator[None]:
        """What this thread reads meanwhile goes over one connection: each still in a transaction of its own.

        Made at the first read; a page reads a dozen times, and each connection costs as much as a query.
        """
        kept = self._kept.by_thread = _Kept()
        try:
            yield
        finally:
            self._kept.by_thread = None
            kept.close()

    @contextmanager
    def read_columns(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, lock: str | None = None) -> Iterator[Session]:
        writer = failpoints.name_of_writing_verb()
        with self._writing.begin() as session:
            if lock and not self.is_sqlite:
                session.execute(text("SELECT pg_advisory_xact_lock(hashtext(:lock))"), {"lock": lock})
            yield session
            failpoints.hit(f"{writer} committing")
        failpoints.hit(f"{writer} committed")

    def hold_open(self) -> None:
        """For services: SQLite's files beside the database then stay, and need no room on a full disk to be made again.

        Called once no process is forked any more that would use the store.
        """
        if self.is_sqlite and self._staying is None:
            connection = sqlite3.connect(self.url.database or "", check_same_thread=False)
            use_write_ahead_log(connection)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            self._staying = connection

    def close(self) -> None:
        if self._staying is not None:
            self._staying.close()
            self._staying = None
        self.engine.dispose()


class _Kept:
    """The connection of one thread, for a while."""

    def __init__(self) -> None:
        self.is_in_use = False
        self.made: Connection | None = None

    def connection(self, engine: Engine) -> Connection:
        if self.made is None or self.made.invalidated:
            self.close()
            self.made = engine.connect()
        return self.made

    def close(self) -> None:
        if self.made is not None:
            self.made.close()
            self.made = None


def open_postgresql(url: str, patience: int | None = None) -> Engine:
    """As many connections are kept as threads usually work at once: making one costs more than a request.

    A transaction is begun for what writes. Single statements are their own otherwise, which is what they would see
    of the others in any case (read committed), and no rollback makes the driver forget its prepared statements.
    """
    engine = create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        pool_size=POOLED_CONNECTIONS,
        max_overflow=POOLED_CONNECTIONS,
        pool_use_lifo=True,
        connect_args={} if patience is None else {"connect_timeout": patience},
    )

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: object, proxy: object) -> None:
        if is_server_gone(connection.fileno()):
            raise InvalidatePoolError("the server has closed the connection")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            # Asked of the driver itself: every verb begins with it.
            driver: Any = connection.connection.driver_connection
            driver.execute("BEGIN")

    return engine


def is_server_gone(descriptor: int) -> bool:
    """A server that goes says so, and its end of the socket closes: on a connection at rest nothing else is read.

    Costs no question to the server; one that has vanished without a word is found out by the next statement.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


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


def database_folder(url: str) -> Path | None:
    """Where the database's files lie; None where that is not known, or on another machine."""
    parts = make_url(url)
    if parts.get_backend_name() == "sqlite":
        return Path(parts.database).parent if parts.database else None
    query_host = parts.query.get("host", "")
    host = parts.host or (query_host if isinstance(query_host, str) else "")
    is_here = host.startswith("/") or host in ("", "localhost", "127.0.0.1", "::1")
    return POSTGRESQL if is_here and POSTGRESQL.is_dir() else None


def is_disk_full(error: BaseException, url: str) -> bool:
    """Whether the database could not write, or not even open its files, because its disk has no room."""
    cause = getattr(error, "orig", None) or error
    if (
        getattr(cause, "sqlstate", None) == DISK_FULL_SQLSTATE
        or getattr(cause, "errno", None) in DISK_FULL_ERRNOS
    ):
        return True
    if not isinstance(cause, sqlite3.Error):
        return False
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_FULL or (code in CANNOT_OPEN_CODES and has_no_room(database_folder(url)))


@contextmanager
def ignoring_disk_full(store: Store) -> Iterator[None]:
    """For a note that may be left out while the database cannot write: who reads a page is not refused for it."""
    try:
        yield
    except DBAPIError as error:
        if not is_disk_full(error, store.address):
            raise


def has_no_room(folder: Path | None) -> bool:
    try:
        found = os.statvfs(folder) if folder is not None else None
    except OSError:
        return False
    return found is not None and found.f_bavail * found.f_frsize < MIN_FREE_BYTES
