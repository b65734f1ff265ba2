"""Opens the database with the same code for SQLite (embedded) and PostgreSQL."""

import select
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Integer, create_engine, event, text
from sqlalchemy.dialects.postgresql.psycopg import PGCompiler_psycopg
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import Session, sessionmaker

from cluster import failpoints
from cluster.store.sql.sqlite import keep_connections, open_sqlite, open_writers, use_write_ahead_log

KEPT_VALUES = "kept_values"
"""The key in a session's `info` for values read over the connection that this thread keeps until it writes."""
POOLED_CONNECTIONS = 16
"""Connections per process. As many more are opened for a short time if all of these are in use."""
PREPARED_STATEMENTS = 400
"""The prepared statements of each connection to PostgreSQL. The pages have some two hundred. Beyond this number the
driver forgets the oldest, and the server plans it again.
"""
SESSION_SETTINGS = "SET jit = off; SET max_parallel_workers_per_gather = 0; SET random_page_cost = 1.1"
"""PostgreSQL's options. There are many short statements at a time, and the data that pages read lie in memory:
compiling a statement or sharing it with other processes costs more than it saves, and an index is faster for some
thousand rows.
"""
PREPARED_AFTER = 1
"""Executions of a statement on a connection. The driver's default of five takes a busy portal half a minute."""


class Store:
    """The database. It has two kinds of transaction: `read()` never writes, `write()` commits at its end or rolls back.

    On SQLite every `write()` is BEGIN IMMEDIATE, so writers queue up instead of failing half-way; those that wait for
    each other share one commit (cluster/store/sql/sqlite_writers.py). On PostgreSQL a named `lock` orders the writers
    that check a sum before they add to it. Reading columns alone needs no session: `read_columns()` is a plain
    connection that never writes. There is a failpoint on both sides of every commit (cluster/failpoints.py).
    """

    def __init__(self, url: str, patience: int | None = None) -> None:
        """`patience` is the number of seconds to wait for a lock or a silent server, if it is not the default."""
        self.address = url
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = open_sqlite(url, patience) if self.is_sqlite else open_postgresql(url, patience)
        self._reading = sessionmaker(self.engine, expire_on_commit=False, autoflush=False)
        self._kept = threading.local()
        self._staying: sqlite3.Connection | None = None
        writing = self.engine.execution_options(writes=True)
        self._writing = sessionmaker(writing, expire_on_commit=False)
        self._writers = open_writers(writing, patience) if self.is_sqlite else None

    @contextmanager
    def read(self) -> Iterator[Session]:
        kept: _KeptConnection | None = getattr(self._kept, "by_thread", None)
        if kept is None or kept.is_in_use:
            with self._reading() as session:
                yield session
            return
        kept.is_in_use = True
        try:
            with self._reading(bind=kept.connection(self.engine), info={KEPT_VALUES: kept.values}) as session:
                yield session
        finally:
            kept.is_in_use = False

    @contextmanager
    def reuse_connection(self) -> Iterator[None]:
        """Lets this thread read over one connection, with a transaction for each read.

        The connection is made at the first read; a page reads a dozen times, and each connection costs as much as a
        query. Facts are read once meanwhile (cluster/store/facts.py).
        """
        kept = self._kept.by_thread = _KeptConnection()
        try:
            yield
        finally:
            self._kept.by_thread = None
            kept.close()

    @contextmanager
    def read_columns(self) -> Iterator[Connection]:
        kept: _KeptConnection | None = getattr(self._kept, "by_thread", None)
        if kept is None or kept.is_in_use:
            with self.engine.connect() as connection:
                yield connection
            return
        kept.is_in_use = True
        connection = kept.connection(self.engine)
        try:
            yield connection
        finally:
            kept.is_in_use = False
            connection.rollback()

    @contextmanager
    def write(self, lock: str | None = None, is_long: bool = False) -> Iterator[Session]:
        """A transaction that is durable at its end. `is_long`: no other writer should have to wait for its commit."""
        writer = failpoints.name_of_writing_verb()
        with self._writers.share(is_long) if self._writers else self._writing.begin() as session:
            if lock and not self.is_sqlite:
                session.execute(text("SELECT pg_advisory_xact_lock(hashtext(:lock))"), {"lock": lock})
            yield session
            failpoints.hit(f"{writer} committing")
        kept: _KeptConnection | None = getattr(self._kept, "by_thread", None)
        if kept is not None:
            kept.values.clear()
        failpoints.hit(f"{writer} committed")

    def hold_open(self) -> None:
        """Keeps SQLite's connections and the files beside the database open, so that they need not be created on a
        full disk.

        Services call it once they no longer fork processes that use the store.
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
        if self._writers is not None:
            self._writers.process_turns.close()
        self.engine.dispose()


class _KeptConnection:
    """One thread's connection while it is kept."""

    def __init__(self) -> None:
        self.is_in_use = False
        self.made: Connection | None = None
        self.values: dict[str, Any] = {}

    def connection(self, engine: Engine) -> Connection:
        if self.made is None or self.made.invalidated:
            self.close()
            self.made = engine.connect()
        return self.made

    def close(self) -> None:
        if self.made is not None:
            self.made.close()
            self.made = None


class LiteralLimits(PGCompiler_psycopg):
    """Writes LIMIT as a number: for a parameter PostgreSQL expects a tenth of all rows, and no plan for all values of
    the other parameters looks as good as one that is made for each statement."""

    def limit_clause(self, select: Any, **options: Any) -> str:
        is_number = isinstance(getattr(select._limit_clause, "type", None), Integer)
        clause: str = super().limit_clause(select, **options | {"literal_execute": is_number})  # type: ignore[no-untyped-call]
        return clause


def open_postgresql(url: str, patience: int | None = None) -> Engine:
    """Keeps as many connections as threads usually work at once, because opening one takes longer than a request.

    Only writers begin transactions. Other statements run in autocommit, which sees the same as a transaction would
    (read committed), and without a rollback the driver keeps its prepared statements. The server keeps the plan of a
    prepared statement if it costs no more than a plan for the present values (LiteralLimits); planning a list costs
    more than reading it.
    """
    engine = create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        pool_size=POOLED_CONNECTIONS,
        max_overflow=POOLED_CONNECTIONS,
        pool_use_lifo=True,
        connect_args={"prepare_threshold": PREPARED_AFTER}
        | ({} if patience is None else {"connect_timeout": patience}),
    )
    engine.dialect.statement_compiler = LiteralLimits

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:
        connection.prepared_max = PREPARED_STATEMENTS
        connection.execute(SESSION_SETTINGS)

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: object, proxy: object) -> None:
        if is_server_gone(connection.fileno()):
            raise InvalidatePoolError("the server has closed the connection")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            # The driver itself is asked, because this code runs at every request.
            driver: Any = connection.connection.driver_connection
            driver.execute("BEGIN")

    return engine


def is_server_gone(descriptor: int) -> bool:
    """Whether the server has closed its end of the socket, which is the only event on an idle connection.

    The server is not asked. If it disappeared without closing the connection, the next statement finds out.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
