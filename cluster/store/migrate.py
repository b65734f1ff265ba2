"""Migrate a database to this version's schema in one transaction, after a copy of the SQLite file. It never goes
backwards.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text

from cluster.domain.errors import GroundcrewError
from cluster.settings import Settings
from cluster.store.sql.roles import grant_statements
from cluster.store.sql.sqlite import copy_sqlite, open_sqlite, sqlite_file

if TYPE_CHECKING:
    # The import takes long, and most services only need the path of the database's file from this module.
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = "groundcrew.migrate"


@dataclass(frozen=True)
class UpgradeResult:
    """The result of `upgrade_database`. `before` is None for a new database; `copy` is set if a copy was made."""

    before: str | None
    after: str
    copy: Path | None = None

    @property
    def is_new(self) -> bool:
        return self.before is None

    @property
    def has_changed(self) -> bool:
        return self.before != self.after


def upgrade_database(settings_or_url: Settings | str, copy_to: Path | None = None) -> UpgradeResult:
    """Copies an older SQLite database to `copy_to` (default: beside it), then migrates as the owner of the tables; can
    be repeated. On PostgreSQL each role then has its privileges, also if there was nothing to migrate.

    Raises GroundcrewError: `database.too_old` for a revision before the first migration, `database.newer` for one
    that this code does not know, `database.foreign` for tables that no migration of ours has made. The database is
    not changed then.
    """
    from alembic import command

    url = settings_or_url.owner_url if isinstance(settings_or_url, Settings) else settings_or_url
    engine = open_for_migration(url)
    try:
        before = read_revision(engine)
        head = check_revision(before)
        if before == head:
            grant_privileges(engine, url)
            return UpgradeResult(before, head)
        copy = None
        if before is not None and engine.dialect.name == "sqlite":
            copy = copy_sqlite(url, copy_to)
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:lock))"), {"lock": LOCK})
            command.upgrade(alembic_config(connection), "head")
            for statement in grant_statements(url):
                connection.execute(text(statement))
        return UpgradeResult(before, head, copy)
    finally:
        engine.dispose()


def grant_privileges(engine: Engine, url: str) -> None:
    statements = grant_statements(url)
    if not statements:
        return
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:lock))"), {"lock": LOCK})
        for statement in statements:
            connection.execute(text(statement))


def check_database(settings_or_url: Settings | str) -> None:
    """Raises GroundcrewError as `upgrade_database` would. A database that does not exist is
    valid and is not created.
    """
    url = database_url_of(settings_or_url)
    path = sqlite_file(url)
    if path is not None and not path.exists():
        return
    engine = open_for_migration(url)
    try:
        check_revision(read_revision(engine))
    finally:
        engine.dispose()


def check_revision(found: str | None) -> str:
    """The newest revision that this code knows. Raises GroundcrewError if `found` cannot be migrated to it."""
    known = known_revisions()
    if found is not None and found not in known:
        if found < known[0]:
            raise GroundcrewError("database.too_old", found=found, oldest=known[0])
        raise GroundcrewError("database.newer", found=found, known=known[-1])
    return known[-1]


def is_schema_current(settings_or_url: Settings | str) -> bool:
    """Returns False also if there is no database, which is not created."""
    url = database_url_of(settings_or_url)
    path = sqlite_file(url)
    if path is not None and not path.exists():
        return False
    engine = open_for_migration(url)
    try:
        return read_revision(engine) == head_revision()
    finally:
        engine.dispose()


def database_url_of(settings_or_url: Settings | str) -> str:
    return settings_or_url.database_url if isinstance(settings_or_url, Settings) else settings_or_url


def open_for_migration(url: str) -> Engine:
    """Opens SQLite without foreign keys, because rebuilding a table drops the old one, to which others refer."""
    if sqlite_file(url) is None:
        return create_engine(url)
    engine = open_sqlite(url)

    @event.listens_for(engine, "connect")
    def loosen(connection: sqlite3.Connection, record: object) -> None:
        connection.execute("PRAGMA foreign_keys=OFF")

    return engine.execution_options(writes=True)


def read_revision(engine: Engine) -> str | None:
    """Returns None for an empty database. Raises GroundcrewError `database.foreign` for foreign tables."""
    from alembic.runtime.migration import MigrationContext

    with engine.connect() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
        tables = inspect(connection).get_table_names()
    if revision is None and set(tables) - {"alembic_version"}:
        raise GroundcrewError("database.foreign", tables=sorted(tables)[:5])
    return revision


def known_revisions() -> list[str]:
    """The revisions, the oldest first. They have four digits and grow, so one that sorts
    before the first is older.
    """
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(alembic_config())
    known = [script.revision for script in scripts.walk_revisions()][::-1]
    assert known, "the package was built without its migrations"
    return known


def head_revision() -> str:
    return known_revisions()[-1]


def alembic_config(connection: Connection | None = None) -> "Config":
    """Alembic's configuration, built here so that no working directory and no .ini file decides which database is
    meant.
    """
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
