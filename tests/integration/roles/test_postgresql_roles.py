"""What the role `postgresql` asks of the server before it makes anything: each thing that is not as wanted shows."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.databases import PostgresqlServer
from tests.unit.roles.rendering import ROOT, value_of

FILES = ROOT / "roles" / "postgresql" / "files"
NAME = "asked"
WANTED: list[str] = value_of("postgresql", "postgresql_roles", postgresql_database=NAME)
DATABASES: list[str] = value_of("postgresql", "postgresql_databases", postgresql_database=NAME)
GIVEN = {
    "roles": ",".join(WANTED),
    "databases": ",".join(DATABASES),
    **{
        name: value_of("postgresql", f"postgresql_{name}", postgresql_database=NAME)
        for name in ("sealer", "owner")
    },
    "services": NAME,
}
MADE = {"has_roles": True, "has_memberships": True, "has_databases": True}
CLOSED = {"tables": 0, "is_closed": True}


@pytest.fixture
def server(postgresql: PostgresqlServer) -> Iterator[PostgresqlServer]:
    services, sealer, door, owner = WANTED
    with postgresql.connect("postgres") as connection:
        for role, member in ((services, ""), (sealer, services), (door, ""), (owner, sealer)):
            connection.execute(f"CREATE ROLE {role} LOGIN {f'IN ROLE {member}' if member else ''}")
        for database in DATABASES:
            connection.execute(f"CREATE DATABASE {database} OWNER {owner}")
    with postgresql.connect(NAME) as connection:
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {owner}")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    yield postgresql
    with postgresql.connect("postgres") as connection:
        for database in DATABASES:
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        connection.execute(f"DROP ROLE {', '.join(WANTED)}")


def ask(server: PostgresqlServer, file: str, database: str) -> dict[str, Any]:
    with psycopg.connect(
        host=str(server.folder), user=server.user, dbname=database, row_factory=dict_row
    ) as connection:
        found = connection.execute((FILES / file).read_text().encode(), GIVEN).fetchone()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("damage", "missing"),
    [
        ("SELECT 1", ""),
        (f"ALTER ROLE {NAME}_ssh CREATEDB", "has_roles"),
        (f"ALTER ROLE {NAME} NOLOGIN", "has_roles"),
        (f"REVOKE {NAME} FROM {NAME}_sealer", "has_memberships"),
        (f"DROP DATABASE {NAME}_drill", "has_databases"),
        (f"ALTER DATABASE {NAME} OWNER TO CURRENT_USER", "has_databases"),
    ],
)
def test_what_is_not_there_shows(server: PostgresqlServer, damage: str, missing: str) -> None:
    with server.connect("postgres") as connection:
        connection.execute(damage.encode())
    found = ask(server, "roles.sql", "postgres")
    assert found == MADE | ({missing: False} if missing else {})


@pytest.mark.parametrize(
    ("damage", "shown"),
    [
        ("SELECT 1", {}),
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", {"is_closed": False}),
        (f"REVOKE CREATE ON SCHEMA public FROM {NAME}_owner", {"is_closed": False}),
        (f"CREATE TABLE old (); ALTER TABLE old OWNER TO {NAME}", {"tables": 1}),
    ],
)
def test_who_may_make_what_shows(server: PostgresqlServer, damage: str, shown: dict[str, Any]) -> None:
    with server.connect(NAME) as connection:
        connection.execute(damage.encode())
    assert ask(server, "rights.sql", NAME) == CLOSED | shown
