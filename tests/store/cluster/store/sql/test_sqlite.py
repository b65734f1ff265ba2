"""SQLite's file is opened with durable commits and foreign keys, and copied whole."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from cluster.store.sql.sqlite import copy_sqlite, open_sqlite, sqlite_file, use_write_ahead_log


def test_the_file_of_an_address() -> None:
    assert sqlite_file("sqlite:////srv/groundcrew.db") == Path("/srv/groundcrew.db")
    assert sqlite_file("postgresql+psycopg://groundcrew@/groundcrew") is None


def test_commits_are_durable_and_foreign_keys_hold(tmp_path: Path) -> None:
    engine = open_sqlite(f"sqlite:///{tmp_path}/new.db", patience=3)
    with engine.connect() as connection:
        pragmas = {
            name: connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 3000}


def test_a_copy_is_whole_while_somebody_writes_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "groundcrew.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE birds (id INTEGER)")
        writer.execute("INSERT INTO birds VALUES (1)")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO birds VALUES (2)")
        copy = copy_sqlite(f"sqlite:///{path}", tmp_path / "copies")
    with closing(sqlite3.connect(copy)) as reader:
        assert reader.execute("SELECT id FROM birds").fetchall() == [(1,)]
    assert copy.parent == tmp_path / "copies"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in copy.parent.iterdir()] == [copy.name]


def test_another_error_than_a_busy_file_is_raised_at_once(tmp_path: Path) -> None:
    path = tmp_path / "groundcrew.db"
    path.write_bytes(b"this is no database, and longer than SQLite's header of a hundred bytes is" * 3)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.DatabaseError):
        use_write_ahead_log(connection)


def test_a_busy_file_is_waited_for_until_the_patience_is_over(tmp_path: Path) -> None:
    path = tmp_path / "groundcrew.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE birds (id INTEGER)")
        other.execute("BEGIN EXCLUSIVE")
        with closing(sqlite3.connect(path, timeout=0)) as connection:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                use_write_ahead_log(connection, busy_ms=50)
            other.execute("COMMIT")
            use_write_ahead_log(connection, busy_ms=50)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
