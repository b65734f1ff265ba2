"""All rows of one moment and what the witness told, read in plain SQL: what the invariants are asked of."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

Record = Mapping[str, Any]
TABLES = (
    "jobs", "attempts", "allocations", "units", "nodes", "workspaces", "job_events", "audit_entries",
    "operations", "datasets", "sweeps",
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """Everything that the invariants speak of, at one moment."""

    rows: Mapping[str, Sequence[Record]]
    told: Sequence[Record]
    """The witness's journal."""
    storage: Path

    def of(self, table: str) -> Sequence[Record]:
        return self.rows[table]


def see(url: str, told: Sequence[Record], storage: Path) -> Seen:
    """`url` as SQLAlchemy takes it. One snapshot of all rows."""
    return Seen(dict(read_sqlite(url) if url.startswith("sqlite") else read_postgresql(url)), told, storage)


def read_sqlite(url: str) -> Iterator[tuple[str, list[Record]]]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN")
        for table in TABLES:
            found = connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            yield table, [{key: as_moment(key, value) for key, value in dict(row).items()} for row in found]


def as_moment(column: str, value: Any) -> Any:
    is_moment = column == "at" or column.endswith("_at") or column == "lease_until"
    return as_utc(datetime.fromisoformat(value)) if is_moment and isinstance(value, str) else value


def as_utc(moment: datetime) -> datetime:
    """SQLite keeps moments without their zone, which is UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def read_postgresql(url: str) -> Iterator[tuple[str, list[Record]]]:
    with psycopg.connect(url.replace("+psycopg", ""), row_factory=dict_row) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for table in TABLES:
            yield table, list(connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall())
