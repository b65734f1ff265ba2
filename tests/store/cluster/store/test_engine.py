"""What is written is committed whole or not at all; what is read writes nothing; one page reads over one connection."""

import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Integer, TextClause, bindparam, event, select, text
from sqlalchemy.exc import IntegrityError, OperationalError

from cluster.store.engine import PREPARED_AFTER, PREPARED_STATEMENTS, Store
from cluster.store.leases import Lease
from cluster.store.users import OneTimeSecret
from tests.conftest import Clock

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)


def a_lease(clock: Clock, name: str = "scheduler") -> Lease:
    return Lease(name=name, holder="one", expires_at=clock())


def count_leases(store: Store) -> int:
    with store.read_columns() as connection:
        return int(connection.scalar(text("SELECT count(*) FROM leases")) or 0)


def test_what_is_written_is_there_at_the_end(store: Store, clock: Clock) -> None:
    with store.write() as session:
        session.add(a_lease(clock))
    assert count_leases(store) == 1


def test_an_error_undoes_all_that_was_written_before_it(store: Store, clock: Clock) -> None:
    with pytest.raises(ValueError, match="half way"), store.write() as session:
        session.add(a_lease(clock))
        session.flush()
        raise ValueError("half way")
    assert count_leases(store) == 0


def test_what_is_added_while_reading_is_not_written(store: Store, clock: Clock) -> None:
    with store.read() as session:
        session.add(a_lease(clock))
    assert count_leases(store) == 0


def test_a_row_without_its_parent_is_refused(store: Store, clock: Clock) -> None:
    orphan = OneTimeSecret(
        kind="password", user_id=4711, secret_hash="x", created_at=clock(), expires_at=clock()
    )
    with pytest.raises(IntegrityError), store.write() as session:
        session.add(orphan)


def wait_until_somebody_waits(store: Store) -> None:
    """For an advisory lock of PostgreSQL; at most ten seconds."""
    query = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    deadline = time.monotonic() + 10
    while not is_any(store, query):
        assert time.monotonic() < deadline, "nobody waits for the lock"
        time.sleep(0.01)


def is_any(store: Store, query: TextClause) -> bool:
    with store.read_columns() as connection:
        return bool(connection.scalar(query))


@on_postgresql
def test_writers_that_name_one_lock_wait_for_each_other(store: Store, clock: Clock) -> None:
    """The second one sees what the first one wrote, so that both cannot pass the same check."""
    seen = []

    def second() -> None:
        with store.write(lock="leases") as session:
            seen.append(session.scalar(text("SELECT count(*) FROM leases")))

    other = threading.Thread(target=second)
    with store.write(lock="leases") as session:
        other.start()
        session.add(a_lease(clock))
        session.flush()
        wait_until_somebody_waits(store)
        assert seen == []
    other.join(10)
    assert seen == [1]


@on_sqlite
def test_a_writer_of_sqlite_waits_only_as_long_as_its_patience(store: Store) -> None:
    with closing(Store(store.address, patience=0)) as impatient, store.write() as session:
        session.connection()
        with pytest.raises(OperationalError, match="locked"), impatient.write() as late:
            late.connection()


def test_reading_over_one_connection_sees_what_others_commit_meanwhile(store: Store, clock: Clock) -> None:
    with store.reuse_connection():
        with store.read() as session:
            first = session.connection().connection.driver_connection
            assert session.get(Lease, "scheduler") is None
        with closing(Store(store.address)) as other, other.write() as session:
            session.add(a_lease(clock))
        with store.read() as session:
            assert session.connection().connection.driver_connection is first
            assert session.get(Lease, "scheduler") is not None
            with store.read() as inner:
                assert inner.connection().connection.driver_connection is not first


@on_sqlite
def test_a_database_that_is_held_open_keeps_its_write_ahead_log(store: Store, clock: Clock) -> None:
    log = Path(f"{store.url.database}-wal")
    with store.write() as session:
        session.add(a_lease(clock))
    assert not log.exists()
    store.hold_open()
    with store.write() as session:
        session.add(a_lease(clock, "other"))
    assert log.stat().st_size > 0
    store.close()
    assert not log.exists()


@on_sqlite
def test_a_connection_is_kept_only_once_the_database_is_held_open(store: Store, clock: Clock) -> None:
    def read_once() -> object:
        with store.read() as session:
            return session.connection().connection.driver_connection

    first = read_once()
    assert isinstance(first, sqlite3.Connection)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        first.execute("SELECT 1")
    store.hold_open()
    kept = read_once()
    assert kept is read_once()
    with closing(Store(store.address)) as other, other.write() as session:
        session.add(a_lease(clock))
    with store.read() as session:
        assert session.get(Lease, "scheduler") is not None


@on_sqlite
def test_a_failed_writer_leaves_no_transaction_in_a_kept_connection(store: Store, clock: Clock) -> None:
    store.hold_open()
    with pytest.raises(RuntimeError), store.write() as session:
        session.add(a_lease(clock))
        session.flush()
        raise RuntimeError
    with store.write() as session:
        assert session.get(Lease, "scheduler") is None
        session.add(a_lease(clock))


@on_postgresql
def test_postgresql_reads_the_length_of_a_page_as_a_number(store: Store) -> None:
    """For a parameter it expects a tenth of all rows, and plans the statement each time."""
    page = select(Lease.name).order_by(Lease.name)
    sent: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    with store.read_columns() as connection:
        connection.execute(page.limit(7).offset(3))
        connection.execute(page.limit(bindparam("length", type_=Integer())), {"length": 9})
    lengths = [re.sub(r"\s+", " ", statement).partition("LIMIT ")[2] for statement in sent]
    assert lengths == ["7 OFFSET 3", "9"]


@on_postgresql
def test_a_connection_to_postgresql_is_set_for_short_statements(store: Store) -> None:
    asked = "SELECT current_setting('jit'), current_setting('max_parallel_workers_per_gather')"
    with store.read_columns() as connection:
        assert tuple(connection.execute(text(asked)).one()) == ("off", "0")
        driver = connection.connection.driver_connection
    assert driver is not None
    assert (driver.prepare_threshold, driver.prepared_max) == (PREPARED_AFTER, PREPARED_STATEMENTS)
