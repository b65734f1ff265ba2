"""Counts what a SQLite store is asked: statements, rows that are fetched, and steps of SQLite's machine."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event

from cluster.store.engine import Store

STEPS = 100
"""SQLite says that it has made so many steps more."""
UNCOUNTED = ("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA")


@dataclass
class Statement:
    """One that was executed, with what it was given and what it cost."""

    text: str
    parameters: Any
    rows: int = 0
    steps: int = 0


@dataclass
class StatementTally:
    """What was executed since the last `take`, on all connections of one store."""

    statements: list[Statement] = field(default_factory=list)

    def take(self) -> list[Statement]:
        taken, self.statements = self.statements, []
        return taken

    def add_rows(self, count: int) -> None:
        if self.statements:
            self.statements[-1].rows += count

    def add_steps(self) -> int:
        if self.statements:
            self.statements[-1].steps += STEPS
        return 0  # SQLite goes on.


@contextmanager
def tallied(store: Store) -> Iterator[StatementTally]:
    """Counts on every connection that the store makes from now on; its pool is emptied before and after."""
    tally = StatementTally()

    class CountingCursor(sqlite3.Cursor):
        def __next__(self) -> Any:
            row = super().__next__()
            tally.add_rows(1)
            return row

        def fetchone(self) -> Any:
            row = super().fetchone()
            tally.add_rows(row is not None)
            return row

        def fetchmany(self, *size: Any) -> list[Any]:
            rows = super().fetchmany(*size)
            tally.add_rows(len(rows))
            return rows

        def fetchall(self) -> list[Any]:
            rows = super().fetchall()
            tally.add_rows(len(rows))
            return rows

    class CountingConnection(sqlite3.Connection):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.set_progress_handler(tally.add_steps, STEPS)

        def cursor(self, factory: Any = CountingCursor) -> Any:
            return super().cursor(factory)

    def make_counting(dialect: object, record: object, arguments: object, options: dict[str, Any]) -> None:
        options["factory"] = CountingConnection

    def note(
        connection: object, cursor: object, statement: str, parameters: Any, context: object, many: bool
    ) -> None:
        if not statement.startswith(UNCOUNTED):
            tally.statements.append(Statement(statement, parameters))

    listeners = (("do_connect", make_counting), ("before_cursor_execute", note))
    store.engine.dispose()
    for name, listener in listeners:
        event.listen(store.engine, name, listener)
    try:
        yield tally
    finally:
        for name, listener in listeners:
            event.remove(store.engine, name, listener)
        store.engine.dispose()
