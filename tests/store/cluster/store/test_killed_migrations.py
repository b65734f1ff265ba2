"""A migration that is killed at any statement leaves what was there, and the next one brings it to this version."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Engine, event, text

from cluster.store import migrate
from tests.store.cluster.store.test_migrate import describe

FIRST = "0001"
KILLS = 6
"""Of the many statements, where time is short: the first, others at even distances, and the commit."""
USER = text(
    "INSERT INTO users (name, full_name, role, state, created_at) "
    "VALUES ('ops', 'Ops', 'administrator', 'active', :at)"
)
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def old_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of a database that the first version has left, with a person in it."""
    if database_kind == "sqlite":
        yield made_by_the_first_version(f"sqlite:///{tmp_path}/groundcrew.db")
        return
    with request.getfixturevalue("postgresql").empty() as url:
        yield made_by_the_first_version(url)


def made_by_the_first_version(url: str) -> str:
    engine = migrate.open_for_migration(url)
    with engine.begin() as connection:
        command.upgrade(migrate.alembic_config(connection), FIRST)
        connection.execute(USER, {"at": "2026-01-01 00:00:00"})
    engine.dispose()
    return url


def killed_at(url: str, number: int | None) -> int:
    """A process that upgrades it and ends itself before that statement, or before the commit; which one that was."""
    seen = FORK.Value("i", 0)
    child = FORK.Process(target=upgrade_until, args=(url, number, seen))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    return seen.value


def upgrade_until(url: str, number: int | None, seen: "Synchronized[int]") -> None:
    def begin_statement(*_: object) -> None:
        seen.value += 1
        if seen.value == number:
            die()

    event.listen(Engine, "before_cursor_execute", begin_statement)
    event.listen(Engine, "commit", die)
    migrate.upgrade_database(url)


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def state_of(url: str) -> tuple[str | None, set[tuple[str, ...]], list[str]]:
    """Revision, schema and people."""
    engine = migrate.open_for_migration(url)
    revision = migrate.read_revision(engine)
    with engine.connect() as connection:
        names = [name for (name,) in connection.execute(text("SELECT name FROM users"))]
        schema = describe(connection)
    engine.dispose()
    return revision, schema, names


@pytest.mark.parametrize("kills", [KILLS, pytest.param(sys.maxsize, marks=pytest.mark.long)])
def test_a_killed_migration_is_begun_anew_from_what_was_there(old_url: str, kills: int) -> None:
    before = state_of(old_url)
    statements = killed_at(old_url, None)
    assert statements > 50 and state_of(old_url) == before
    for number in range(1, statements + 1, max(1, statements // kills)):
        assert killed_at(old_url, number) == number
        assert state_of(old_url) == before, number
    migrate.upgrade_database(old_url)
    assert migrate.is_schema_current(old_url)
    assert state_of(old_url)[2] == before[2] == ["ops"]
