"""Dump SQLite in one read transaction, and load such a dump into a scratch file."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from cluster.failpoints import external_call
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.sql.sqlite import sqlite_file
from worker.backups.database_contents import read_summary
from worker.backups.databases.protocols import DatabaseDump
from worker.backups.errors import BackupBroken, raise_if_disk_full

ROWS_PER_INSERT = 100
SCRATCH_PRAGMAS = ("PRAGMA synchronous=OFF",)
"""If the machine crashes, only a scratch database is lost. A scratch database that is to stay is synced at the end."""


class SqliteScratch:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.url = f"sqlite:///{file}"

    def load(self, text: IO[bytes]) -> None:
        """Executes one statement after the other, so that a large file needs no memory."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as database:
            for pragma in SCRATCH_PRAGMAS:
                database.execute(pragma)
            try:
                for statement in split_statements(line.decode() for line in text):
                    database.execute(statement)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise_if_disk_full(str(error))
                raise BackupBroken("broken.unreadable", said=str(error)) from error

    def check_integrity(self) -> None:
        with closing(sqlite3.connect(self.file)) as database:
            answer = database.execute("PRAGMA integrity_check").fetchone()[0]
            if answer != "ok":
                raise BackupBroken("broken.damaged", said=answer)
            wrong = database.execute("PRAGMA foreign_key_check").fetchone()
            if wrong is not None:
                raise BackupBroken("broken.dangling", table=wrong[0], other=wrong[2])


class SqliteDatabase:
    kind = "sqlite"

    def __init__(self, settings: Settings) -> None:
        file = sqlite_file(settings.database_url)
        assert file is not None
        self.file, self.folder = file, settings.state_dir / "database"

    def size(self) -> int:
        return self.file.stat().st_size

    @contextmanager
    def open_dump(self) -> Iterator[DatabaseDump]:
        """Reads everything in one transaction. Writers append to the write-ahead log meanwhile.

        Afterwards the log is moved into the database here, because otherwise the next commit would do it and its
        writer would wait.
        """
        store = Store(f"sqlite:///{self.file}")
        with closing(store), closing(sqlite3.connect(self.file)) as living:
            with store.read_columns() as connection:
                content = read_summary(connection)
                driver: Any = connection.connection.driver_connection
                yield DatabaseDump(content, (text.encode() for text in join_inserts(driver.iterdump())))
            living.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def scratch(self, is_to_stay: bool = False) -> Iterator[SqliteScratch]:
        """Works without an existing database too. The scratch file may become the database, because nobody else reads
        it.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".drill-") as folder:
            file = Path(folder) / "drill.db"
            file.touch(mode=0o600)
            yield SqliteScratch(file)

    def keeps_replaced_data(self) -> bool:
        return True

    def check_unused(self) -> None:
        """Does nothing, because a file does not show who uses it. The caller asks the process manager."""

    def replace_with(self, scratch: SqliteScratch, aside: str) -> Path | None:
        """Renames the scratch file. The replaced file keeps its write-ahead log."""
        with closing(sqlite3.connect(scratch.file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        fsync_path(scratch.file)
        kept = self.keep_replaced_file(aside) if self.file.exists() else None
        with external_call("backups.replace"):
            scratch.file.replace(self.file)
        fsync_path(self.folder)
        return kept

    def keep_replaced_file(self, name: str) -> Path:
        """Links the file, so that an interruption here leaves a database with all its commits in place."""
        kept = self.folder / f"{name}.db"
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(self.file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # An intact database has no write-ahead log left now. The log of a broken one is moved with it.
        os.link(self.file, kept)
        for suffix in ("-wal", "-shm"):
            beside = self.file.with_name(self.file.name + suffix)
            if beside.exists():
                beside.rename(kept.with_name(kept.name + suffix))
        return kept

    def delete_unfinished(self) -> None:
        for path in self.folder.glob(".backup-*.db*"):
            path.unlink(missing_ok=True)
        for drill in self.folder.glob(".drill-*"):
            shutil.rmtree(drill, ignore_errors=True)


def join_inserts(found: Iterable[str]) -> Iterator[str]:
    """Joins up to `ROWS_PER_INSERT` rows of a table in one statement, each on its own line, which halves the time of
    loading.
    """
    head, rows = "", 0
    for statement in found:
        begin, _, row = statement.partition(" VALUES")
        is_row = bool(row) and begin.startswith('INSERT INTO "')
        goes_on = is_row and begin == head and rows < ROWS_PER_INSERT
        if head and not goes_on:
            yield ";\n"
        if not is_row:
            yield f"{statement}\n"
        else:
            yield f",\n{row[:-1]}" if goes_on else statement[:-1]
        head, rows = (begin, rows + 1 if goes_on else 1) if is_row else ("", 0)
    if head:
        yield ";\n"


def fsync_path(path: Path) -> None:
    """Syncs a file, or a folder so that renamed entries survive a crash."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def split_statements(lines: Iterator[str]) -> Iterator[str]:
    """Yields complete statements, because a text or a trigger may have several lines. Raises BackupBroken for an
    incomplete end.
    """
    waiting: list[str] = []
    for line in lines:
        waiting.append(line)
        if line.rstrip().endswith(";") and sqlite3.complete_statement("".join(waiting)):
            yield "".join(waiting)
            waiting = []
    if "".join(waiting).strip():
        raise BackupBroken("broken.cut")
