"""Dump PostgreSQL with the server version's pg_dump and load it with its psql."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL

from cluster.domain.errors import Refused, Unavailable
from cluster.store.engine import Store
from cluster.store.sql.roles import grant_statements
from worker.backups.database_contents import read_summary
from worker.backups.databases.protocols import DatabaseDump
from worker.backups.errors import BackupBroken, raise_if_disk_full

INSTALLED = Path("/usr/lib/postgresql")
SCRATCH = "_drill"
"""The ending of the scratch database's name. We create it if our role may, else the person who installs does."""
PG_DUMP = ("--format=plain", "--no-owner", "--no-privileges", "--encoding=UTF8")
PSQL = (
    "--no-psqlrc",
    "--quiet",
    "--single-transaction",
    "--set=ON_ERROR_STOP=1",
    "--output=/dev/null",
    "--file=-",
)
TABLE, END_OF_ROWS = b"CREATE TABLE ", b"\\.\n"
PIECE = 1 << 16
LAST_WORDS = 300
DISCONNECT_TIMEOUT = 3.0
"""Seconds. The server notices a moment late that a stopped client is gone."""
OTHER_CLIENTS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)


class PostgresqlScratch:
    def __init__(self, url: URL, is_to_stay: bool = False) -> None:
        self.address, self.is_to_stay = url, is_to_stay
        self.url = url.render_as_string(hide_password=False)

    def load(self, text: IO[bytes]) -> None:
        pieces = iter(partial(text.read, PIECE), b"") if self.is_to_stay else make_tables_unlogged(text)
        problem = load_sql(self.address, chain(pieces, grant_text(self.address)))
        if problem:
            raise_if_disk_full(problem)
            raise BackupBroken("broken.unreadable", said=problem)

    def check_integrity(self) -> None:
        """Does nothing: psql has checked the constraints while it loaded the text and stops at the first violated
        one.
        """


class PostgresqlDatabase:
    kind = "postgresql"

    def __init__(self, url: URL) -> None:
        self.url = url

    def size(self) -> int:
        with connect_psycopg(self.url) as connection:
            found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(found[0]) if found else 0

    @contextmanager
    def open_dump(self) -> Iterator[DatabaseDump]:
        """Counts and dumps one snapshot. The locks of pg_dump block only migrations."""
        store = Store(self.url.render_as_string(hide_password=False))
        with closing(store), store.read_columns() as connection:
            connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            snapshot = connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one()
            content = read_summary(connection)
            version = int(connection.exec_driver_sql("SHOW server_version_num").scalar_one()) // 10000
            command = [find_postgresql_program("pg_dump", version), *PG_DUMP, f"--snapshot={snapshot}"]
            with subprocess.Popen(
                [*command, f"--dbname={conninfo(self.url)}"], env=libpq_variables(self.url),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            ) as dump:  # fmt: skip
                assert dump.stdout is not None
                yield DatabaseDump(content, iter(partial(dump.stdout.read, PIECE), b""))
            if dump.returncode != 0:
                raise Unavailable("backup.pg_dump_failed", exit_code=dump.returncode)

    @contextmanager
    def scratch(self, is_to_stay: bool = False) -> Iterator[PostgresqlScratch]:
        """Yields an empty scratch database, which is dropped or emptied afterwards."""
        scratch = scratch_url(self.url)
        ensure_scratch(self.url, scratch)
        try:
            yield PostgresqlScratch(scratch, is_to_stay)
        finally:
            with suppress(psycopg.OperationalError):
                clear_scratch(self.url, scratch)

    def keeps_replaced_data(self) -> bool:
        """True only if there is no table yet, because `replace_with` drops the tables."""
        with connect_psycopg(self.url) as connection:
            return not drop_statements(connection)

    def check_unused(self) -> None:
        end = time.monotonic() + DISCONNECT_TIMEOUT
        with connect_psycopg(self.url) as connection:
            while (found := connection.execute(OTHER_CLIENTS).fetchone()) and found[0]:
                if time.monotonic() > end:
                    raise Refused("file", "restore.in_use", count=found[0])
                time.sleep(0.02)

    def replace_with(self, scratch: PostgresqlScratch, aside: str) -> Path | None:
        """Replaces the data in one transaction with a text that was dumped from the scratch database.

        The caller has written the previous data as a backup under `pre_restore_copy` before.
        """
        with connect_psycopg(self.url) as connection:
            gone = [statement.as_bytes(connection) + b";\n" for statement in drop_statements(connection)]
        with PostgresqlDatabase(scratch.address).open_dump() as reading:
            problem = load_sql(self.url, chain(gone, reading.pieces, grant_text(self.url)))
        if problem:
            raise Unavailable("restore.not_taken", problem=problem)
        return None

    def delete_unfinished(self) -> None:
        clear_scratch(self.url, scratch_url(self.url))


def scratch_url(url: URL) -> URL:
    return url.set(database=f"{url.database}{SCRATCH}")


def connect_psycopg(url: URL) -> psycopg.Connection:
    return psycopg.connect(conninfo(url), password=url.password, autocommit=True)


def conninfo(url: URL) -> str:
    """The address for libpq's programs, without the password, because everybody can see the
    arguments of processes.
    """
    query = {name: value for name, value in url.query.items() if isinstance(value, str)}
    parts = {"dbname": url.database, "user": url.username, "host": url.host, "port": url.port, **query}
    return psycopg.conninfo.make_conninfo("", **{name: value for name, value in parts.items() if value})


def libpq_variables(url: URL) -> dict[str, str]:
    """The environment variables of the server's programs."""
    password = {"PGPASSWORD": str(url.password)} if url.password else {}
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **password}


def find_postgresql_program(name: str, version: int) -> str:
    """A program of the server's major version: older ones refuse the server, and newer ones may write text that it
    does not understand.

    Raises Unavailable.
    """
    beside = INSTALLED / str(version) / "bin" / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is not None:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        number = re.search(r"\b(\d+)\b", said)
        if number is not None and int(number[1]) == version:
            return found
    raise Unavailable("backup.no_program", program=name, version=version)


def load_sql(url: URL, pieces: Iterable[bytes]) -> str:
    """Loads the text in one transaction. Returns an empty string, or the end of psql's output if it failed."""
    with connect_psycopg(url) as connection:
        program = find_postgresql_program("psql", connection.info.server_version // 10000)
    command = [program, *PSQL, f"--dbname={conninfo(url)}"]
    with (
        tempfile.TemporaryFile() as words,
        subprocess.Popen(
            command, env=libpq_variables(url), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=words
        ) as psql,
    ):
        assert psql.stdin is not None
        with suppress(BrokenPipeError):  # The end of psql's output tells why it closed the pipe.
            for piece in pieces:
                psql.stdin.write(piece)
        with suppress(BrokenPipeError):
            psql.stdin.close()
        code = psql.wait()
        words.seek(0)
        said = words.read().decode(errors="replace").strip()
    return "" if code == 0 else said[-LAST_WORDS:] or f"psql ended with exit code {code}"


def grant_text(url: URL) -> Iterator[bytes]:
    """The privileges of the roles, because a dump contains none."""
    yield from (f"{statement};\n".encode() for statement in grant_statements(url))


def make_tables_unlogged(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Makes the tables of a drill unlogged, so that loading them does not delay other writers by the server's log."""
    is_row = False
    for line in lines:
        if is_row:
            is_row = line != END_OF_ROWS
        elif line.startswith(b"COPY ") and line.endswith(b" FROM stdin;\n"):
            is_row = True
        elif line.startswith(TABLE):
            line = b"CREATE UNLOGGED TABLE " + line.removeprefix(TABLE)
        yield line


def ensure_scratch(url: URL, scratch: URL) -> None:
    """Raises Unavailable if there is no scratch database and this role may not create one."""
    clear_scratch(url, scratch)
    with connect_psycopg(url) as connection:
        if has_database(connection, scratch):
            return
        if not can_create_database(connection):
            raise Unavailable("backup.no_scratch", name=scratch.database)
        name = sql.Identifier(str(scratch.database))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(name))


def clear_scratch(url: URL, scratch: URL) -> None:
    """Drops the database if this role can create it again, else empties it."""
    with connect_psycopg(url) as connection:
        if not has_database(connection, scratch):
            return
        if can_create_database(connection):
            name = sql.Identifier(str(scratch.database))
            try:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
            except psycopg.errors.InsufficientPrivilege:
                # Only a superuser may end an autovacuum by force. Without force the server itself ends it.
                connection.execute(sql.SQL("DROP DATABASE {}").format(name))
            return
    with connect_psycopg(scratch) as connection:
        for statement in drop_statements(connection):
            connection.execute(statement)


def has_database(connection: psycopg.Connection, scratch: URL) -> bool:
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [scratch.database])
    return found.fetchone() is not None


def can_create_database(connection: psycopg.Connection) -> bool:
    found = connection.execute(
        "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    return bool(found and found[0])


def drop_statements(connection: psycopg.Connection) -> list[sql.Composed]:
    """Statements that drop everything of ours but the schema, which may belong to another role."""
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    functions = connection.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace"
    ).fetchall()
    found = [sql.SQL("DROP TABLE public.{} CASCADE").format(sql.Identifier(name)) for (name,) in tables]
    for (signature,) in functions:
        found.append(sql.SQL("DROP FUNCTION {} CASCADE").format(sql.SQL(signature)))
    return found
