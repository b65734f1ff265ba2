"""A full disk is told apart from other failures, by what SQLite, PostgreSQL and the kernel say."""

import errno
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from cluster.store.engine import Store
from cluster.store.sql import disk_full
from cluster.store.sql.disk_full import database_folder, has_no_room, ignoring_disk_full, is_disk_full

SQLITE = "sqlite:////srv/groundcrew/database/groundcrew.db"
POSTGRESQL = "postgresql+psycopg://groundcrew@/groundcrew?host=/run/postgresql"


class PostgresqlError(Exception):
    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "is_full"),
    [
        (OSError(errno.ENOSPC, "no space"), True),
        (OSError(errno.EDQUOT, "quota"), True),
        (OSError(errno.EACCES, "denied"), False),
        (PostgresqlError("53100"), True),
        (PostgresqlError("53300"), False),
        (sqlite_error(sqlite3.SQLITE_FULL), True),
        (sqlite_error(sqlite3.SQLITE_BUSY), False),
        (ValueError("other"), False),
    ],
    ids=str,
)
def test_the_kernel_and_both_databases_say_that_a_disk_is_full(error: Exception, is_full: bool) -> None:
    assert is_disk_full(error, SQLITE) is is_full
    assert is_disk_full(OperationalError("INSERT", {}, error), SQLITE) is is_full


@pytest.mark.parametrize(("free", "is_full"), [(100, True), (10_000, False)])
def test_sqlite_that_cannot_make_its_files_is_full_only_if_nothing_is_free(
    monkeypatch: pytest.MonkeyPatch, free: int, is_full: bool
) -> None:
    found = SimpleNamespace(f_bavail=free, f_frsize=1024)
    monkeypatch.setattr(disk_full.os, "statvfs", lambda folder: found)
    assert is_disk_full(sqlite_error(sqlite3.SQLITE_CANTOPEN), SQLITE) is is_full


def test_a_folder_that_cannot_be_asked_is_not_full(tmp_path: Path) -> None:
    assert not has_no_room(None)
    assert not has_no_room(tmp_path / "nothing")
    assert not has_no_room(tmp_path)


def test_the_folder_of_the_databases_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert database_folder(SQLITE) == Path("/srv/groundcrew/database")
    assert database_folder("sqlite://") is None
    monkeypatch.setattr(disk_full, "POSTGRESQL", tmp_path)
    for address in (POSTGRESQL, "postgresql+psycopg://u@localhost/d", "postgresql+psycopg://u@/d"):
        assert database_folder(address) == tmp_path
    assert database_folder("postgresql+psycopg://u@db.example.org/d") is None
    monkeypatch.setattr(disk_full, "POSTGRESQL", tmp_path / "nothing")
    assert database_folder(POSTGRESQL) is None


def test_only_a_full_disk_is_ignored() -> None:
    store = Store(SQLITE)
    reached = []
    with ignoring_disk_full(store):
        raise OperationalError("INSERT", {}, sqlite_error(sqlite3.SQLITE_FULL))
    reached.append("after a full disk")
    with pytest.raises(OperationalError), ignoring_disk_full(store):
        raise OperationalError("INSERT", {}, sqlite_error(sqlite3.SQLITE_BUSY))
    assert reached == ["after a full disk"]
