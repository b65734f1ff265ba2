"""A migration that is killed at any statement leaves what was there; the next one brings it to this version."""

import multiprocessing
import os
import shutil
import signal
import sys
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, inspect, text

from cluster.store import migrate
from tests.store.schema_description import describe_schema

KILLS = 6
"""Of the many statements, where time is short: the first, others at even distances, and the commit."""
USER = text(
    "INSERT INTO users (name, full_name, role, state, created_at) "
    "VALUES ('ops', 'Ops', 'administrator', 'active', :at)"
)
FORK = multiprocessing.get_context("fork")


LATER_STEP = """import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = {head!r}
TABLES = ("users", "nodes", "workspaces", "operations", "jobs", "attempts", "repair_runs", "notifications")


def upgrade():
    for table in TABLES:
        # On SQLite each table is made anew, its rows are copied, the old one is dropped.
        with op.batch_alter_table(table, recreate="auto") as batch:
            batch.add_column(sa.Column("colour_of_later", sa.Integer(), server_default="7", nullable=False))
            batch.alter_column("id", nullable=False)
            batch.create_index(f"ix_{{table}}_colour_of_later", ["colour_of_later"])
    op.create_table("later", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("INSERT INTO later (id) SELECT id FROM users")
"""


@pytest.fixture
def older_url(empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a database of today with a person in it, to which a later version adds a step that changes many tables."""
    migrate.upgrade_database(empty_url)
    engine = migrate.open_for_migration(empty_url)
    with engine.begin() as connection:
        connection.execute(USER, {"at": "2026-01-01 00:00:00"})
    engine.dispose()
    later = tmp_path / "migrations"
    shutil.copytree(migrate.MIGRATIONS, later)
    (later / "versions" / "9999_later.py").write_text(LATER_STEP.format(head=migrate.head_revision()))
    monkeypatch.setattr(migrate, "MIGRATIONS", later)
    return empty_url


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
        has_people = inspect(connection).has_table("users")
        names = list(connection.scalars(text("SELECT name FROM users"))) if has_people else []
        schema = describe_schema(connection)
    engine.dispose()
    return revision, schema, names


def kill_at_many_statements(url: str, kills: int) -> int:
    """How many statements the migration has; after each kill the database is as it was."""
    before = state_of(url)
    statements = killed_at(url, None)
    assert state_of(url) == before
    for number in range(1, statements + 1, max(1, statements // kills)):
        assert killed_at(url, number) == number
        assert state_of(url) == before, number
    return statements


MANY = pytest.mark.parametrize("kills", [KILLS, pytest.param(sys.maxsize, marks=pytest.mark.long)])


@MANY
def test_a_killed_first_migration_leaves_an_empty_database(empty_url: str, kills: int) -> None:
    assert kill_at_many_statements(empty_url, kills) > 50
    migrate.upgrade_database(empty_url)
    assert migrate.is_schema_current(empty_url)
    assert state_of(empty_url)[2] == []


@MANY
def test_a_killed_migration_starts_again_from_what_was_there(older_url: str, kills: int) -> None:
    assert kill_at_many_statements(older_url, kills) > 15
    migrate.upgrade_database(older_url)
    assert migrate.is_schema_current(older_url)
    revision, schema, names = state_of(older_url)
    assert (revision, names) == ("9999", ["ops"])
    assert any("colour_of_later" in " ".join(part) for part in schema)
