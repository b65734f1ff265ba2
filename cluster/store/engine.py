"""Opens the database: the same code for SQLite (embedded) and PostgreSQL."""

import select
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import Session, sessionmaker

from cluster import failpoints
from cluster.store.sqlite import keep_connections, open_sqlite, use_write_ahead_log

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
        """For services: SQLite's connections are kept, and so are its files beside the database, which then need no
        room on a full disk to be made again.

        Called once no process is forked any more that would use the store.
        """
        if self.is_sqlite and self._staying is None:
            connection = sqlite3.connect(self.url.database or "", check_same_thread=False)
            use_write_ahead_log(connection)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            self._staying = connection
            keep_connections(self.engine)

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
