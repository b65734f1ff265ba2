"""An event bus that checks at every publish that the row is visible to another connection."""

import os
import sqlite3
import time
from contextlib import closing

import psycopg
from sqlalchemy import URL

from cluster.failpoints import external_call
from tests.crash.invariants.execution_log import Journal

PATIENCE = 3.0
"""Seconds of the wall's time, on a machine that has other work to do."""
OPEN_WRITERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%' AND backend_xid IS NOT NULL"
)


class TellingBell:
    """Rings for nobody: the scheduler of these tests looks by itself. It tells the journal of every ring."""

    def __init__(self, url: URL, journal: Journal) -> None:
        self.url, self.journal = url, journal
        self.connection: psycopg.Connection | None = None
        self.connection_of = 0
        self.has_found = False
        """One ring that came too early is enough to be patient with no other."""

    def publish(self, topic: str, row_id: int) -> None:
        self.publish_all((topic, row_id))

    def publish_all(self, *rings: tuple[str, int]) -> None:
        with external_call("event_bus.publish"):
            for topic, row_id in rings:
                self.journal.tell("rings", topic=topic, row=row_id, too_early=self.is_writing())

    def enqueue(self, queue: str, operation_id: int) -> None:
        with external_call("event_bus.enqueue"):
            self.journal.tell("enqueues", queue=queue, row=operation_id, too_early=self.is_writing())

    def is_writing(self) -> bool:
        """Whether the transaction of whoever rings is still open.

        Seen from outside it is anybody's: starts run side by side, and a file is locked for other reasons too. But
        only the ringer's own stays open for as long as it is kept waiting here.
        """
        deadline = time.monotonic() + PATIENCE
        while self.is_anybody_writing():
            if self.has_found or time.monotonic() > deadline:
                self.has_found = True
                return True
            time.sleep(0.005)
        return False

    def is_anybody_writing(self) -> bool:
        if self.url.get_backend_name() == "sqlite":
            with closing(sqlite3.connect(self.url.database or "", timeout=0, isolation_level=None)) as other:
                try:
                    other.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    return True
                return False
        try:
            found = self.other_connection().execute(OPEN_WRITERS).fetchone()
        except psycopg.OperationalError:  # Cut off by a test.
            self.close()
            return self.is_anybody_writing()
        return found is not None and found[0] > 0

    def other_connection(self) -> psycopg.Connection:
        """One for each process: none crosses a fork."""
        if self.connection is None or self.connection_of != os.getpid():
            self.connection, self.connection_of = (
                psycopg.connect(plain(self.url), autocommit=True),
                os.getpid(),
            )
        return self.connection

    def close(self) -> None:
        if self.connection is not None and self.connection_of == os.getpid():
            self.connection.close()
        self.connection = None


def plain(url: URL) -> str:
    """As psycopg itself takes it."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)
