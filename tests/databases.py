"""Real databases for tests: a SQLite file, and Debian's PostgreSQL started once per test run."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from cluster.store.migrate import upgrade_database
from cluster.store.sql.roles import DatabaseRoles
from cluster.store.tables import metadata

TEMPLATE = "template_groundcrew"
ROLES = DatabaseRoles("groundcrew")
"""As `site.yml` makes them. Ours may make databases besides, so that each test has a scratch database of its own."""
MAKE_ROLES = (
    f"CREATE ROLE {ROLES.services} LOGIN",
    f"CREATE ROLE {ROLES.sealer} LOGIN IN ROLE {ROLES.services}",
    f"CREATE ROLE {ROLES.door} LOGIN",
    f"CREATE ROLE {ROLES.owner} LOGIN CREATEDB IN ROLE {ROLES.sealer}",
)
OWN_NUMBER = "SELECT oid FROM pg_class WHERE relname = 'users'"
"""The server's for one of the tables: copies of the template share it, what was made anew has another."""
STARTS_WITHIN_SECONDS = 60
UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")
"""Tests lose nothing when the machine does: no syncing."""
DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on", "shared_buffers=256MB")
"""For measurements: what an installation would lose nothing with."""


class PostgresqlMissing(Exception):
    """Says what to install."""


class PostgresqlServer:
    """A server of our own on a unix socket in a temporary folder; gone with the test run."""

    def __init__(self, folder: Path, user: str, start: Callable[[], "subprocess.Popen[bytes]"]) -> None:
        self.folder = folder
        self.user = user
        self.made: set[str] = set()
        self.spare: list[str] = []
        self._start = start
        self.start()
        with self.connect("postgres") as connection:
            for statement in MAKE_ROLES:
                connection.execute(statement)
            connection.execute(f"CREATE DATABASE {TEMPLATE} OWNER {ROLES.owner}")
        upgrade_database(self.url(TEMPLATE, ROLES.owner))
        with self.connect(TEMPLATE) as connection:
            self.own_number = connection.execute(OWN_NUMBER).fetchone()

    def start(self) -> None:
        self.process = self._start()
        wait_until_ready(self.folder, self.user)

    def kill(self) -> None:
        """As a power cut would, without the cut: every process of it at once."""
        for each in (psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children()):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)  # "Fast" shutdown: it does not wait for open connections.
        self.process.wait(STARTS_WITHIN_SECONDS)

    def url(self, database: str, role: str = "") -> str:
        return f"postgresql+psycopg://{role or self.user}@/{database}?host={self.folder}"

    def connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(host=str(self.folder), user=self.user, dbname=database, autocommit=True)

    @contextmanager
    def empty(self) -> Iterator[str]:
        """The URL of a new database without a table."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        with self.connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name}")
            try:
                yield self.url(name)
            finally:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """The URL of a migrated database without a row, by the scheduler's role: it may do what every service may,
        and seal. Emptied and used again: making one costs 0.3 s.
        """
        name = self.spare.pop() if self.spare else f"test_{uuid.uuid4().hex[:12]}"
        if name not in self.made:
            with self.connect("postgres") as connection:
                connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER {ROLES.owner}")
            self.made.add(name)
        yield self.url(name, ROLES.sealer)
        with self.connect(name) as connection:
            if connection.execute(OWN_NUMBER).fetchone() != self.own_number:
                return  # A backup was put back: the server writes the same checks in other words then.
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute("SET session_replication_role = replica")  # The audit's trigger would refuse.
            tables = ", ".join(metadata.tables)
            connection.execute(f"TRUNCATE {tables} RESTART IDENTITY")
        self.spare.append(name)


def owner_url(url: str) -> str:
    """The same database by the owner of its tables. Other addresses than of `migrated` stay as they are."""
    return url.replace(f"//{ROLES.sealer}@", f"//{ROLES.owner}@")


def superuser_url(url: str) -> str:
    """The same database by the role that nothing is refused to."""
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    return url.replace(f"//{ROLES.sealer}@", f"//{user}@")


def find_postgresql() -> Path:
    """The newest server's folder of programs. Raises PostgresqlMissing."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    if on_path:
        found.append(Path(on_path).parent)
    if not found:
        raise PostgresqlMissing("PostgreSQL's server is not installed: apt-get install postgresql")
    return found[-1]


@contextmanager
def postgresql_server(options: Sequence[str] = UNSAFE) -> Iterator[PostgresqlServer]:
    """Raises PostgresqlMissing. As root the server runs as `postgres`: initdb refuses root."""
    programs = find_postgresql()
    is_root = os.geteuid() == 0
    user = "postgres" if is_root else pwd.getpwuid(os.geteuid()).pw_name
    # Not pytest's own folder: only its owner may enter that one. Short, for a socket's path is limited.
    folder = Path(tempfile.mkdtemp(prefix="gc-postgresql-"))
    identity: dict[str, Any] = {"user": user, "group": user, "extra_groups": []} if is_root else {}
    data = folder / "data"
    always = (f"unix_socket_directories={folder}", "listen_addresses=", "max_connections=200")
    switches = [word for option in (*always, *options) for word in ("-c", option)]
    if is_root:
        shutil.chown(folder, user, user)
    try:
        with (folder / "log").open("w+") as log:
            initdb = [
                programs / "initdb",
                "-D",
                data,
                "-U",
                user,
                "--auth=trust",
                "-E",
                "UTF8",
                "--locale=C",
                "-N",
            ]
            subprocess.run(initdb, check=True, cwd=folder, stdout=log, stderr=log, **identity)
            # A test run that is killed takes its server with it.
            command = ["setpriv", "--pdeathsig", "INT", programs / "postgres", "-D", data, *switches]

            def start() -> "subprocess.Popen[bytes]":
                return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **identity)

            server = PostgresqlServer(folder, user, start)
            try:
                yield server
            finally:
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_ready(folder: Path, user: str) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while True:
        try:
            psycopg.connect(host=str(folder), user=user, dbname="postgres").close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise RuntimeError((folder / "log").read_text()) from None
            time.sleep(0.1)
