"""Summarise what a database contains, so that a restored copy can be compared with the original, and check the
invariants of every database of this product.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, inspect

from worker.backups.errors import BackupBroken

APPEND_ONLY_TABLES = ("audit_entries", "audit_seals")
"""The second table does not exist in the oldest backups."""
TRIGGER_QUERIES = {
    "sqlite": (3, "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = '{table}'"),
    "postgresql": (
        1,
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass('public.{table}')"
        " AND NOT tgisinternal AND tgenabled <> 'D'",
    ),
}
"""The number of triggers that keep each of the audit's tables append-only, and the query that counts them."""
LIVES = "EXISTS (SELECT 1 FROM attempts WHERE attempts.job_id = jobs.id AND attempts.ended_at IS NULL)"
INVARIANTS = {
    "broken.unit_twice": (
        "SELECT unit_id FROM allocations WHERE ended_at IS NULL GROUP BY unit_id HAVING count(*) > 1"
    ),
    "broken.ended_holds": (
        "SELECT attempts.id FROM allocations JOIN attempts ON attempts.id = allocations.attempt_id"
        " WHERE allocations.ended_at IS NULL AND attempts.ended_at IS NOT NULL"
    ),
    "broken.two_attempts": (
        "SELECT job_id FROM attempts WHERE ended_at IS NULL GROUP BY job_id HAVING count(*) > 1"
    ),
    "broken.no_attempt": (
        f"SELECT id FROM jobs WHERE state IN ('starting', 'running', 'stopping') AND NOT {LIVES}"
    ),
    "broken.attempt_too_many": (
        f"SELECT id FROM jobs WHERE state NOT IN ('starting', 'running', 'stopping') AND {LIVES}"
    ),
    "broken.no_cause": (
        "SELECT id FROM jobs WHERE state IN ('finished', 'failed', 'stopped')"
        " AND (ended_at IS NULL OR end_code IS NULL)"
    ),
}
"""A query per code. It selects the ids of the rows that violate the invariant."""


@dataclass(frozen=True)
class DatabaseSummary:
    """The migration, the number of rows by table, and the newest entry of the audit; None if there is no entry."""

    revision: str
    rows: dict[str, int]
    audit_head: int | None


def read_summary(connection: Connection) -> DatabaseSummary:
    """Raises BackupBroken if this is not a database of ours."""
    rows = count_rows(connection)
    if not {"alembic_version", "audit_entries", "users"} <= set(rows):
        raise BackupBroken("broken.not_ours")
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    head = connection.exec_driver_sql("SELECT max(id) FROM audit_entries").scalar()
    return DatabaseSummary(str(revision), rows, head)


def count_rows(connection: Connection) -> dict[str, int]:
    """The number of rows by table."""
    quote = connection.dialect.identifier_preparer.quote
    return {
        name: int(connection.exec_driver_sql(f"SELECT count(*) FROM {quote(name)}").scalar_one())
        for name in sorted(inspect(connection).get_table_names())
    }


def check_same_summary(found: DatabaseSummary, expected: DatabaseSummary) -> None:
    """Raises BackupBroken with the first difference."""
    if found.revision != expected.revision:
        raise BackupBroken("broken.other_migration", found=found.revision, expected=expected.revision)
    for name in sorted({*found.rows, *expected.rows}):
        there, said = found.rows.get(name), expected.rows.get(name)
        if there != said:
            raise BackupBroken("broken.other_rows", table=name, found=there or 0, expected=said or 0)
    if found.audit_head != expected.audit_head:
        raise BackupBroken("broken.other_end", found=found.audit_head or 0, expected=expected.audit_head or 0)


def check_audit_triggers(connection: Connection, rows: dict[str, int]) -> None:
    """Raises BackupBroken if a trigger is missing, so that the audit could be changed."""
    least, query = TRIGGER_QUERIES[connection.dialect.name]
    for table in [name for name in APPEND_ONLY_TABLES if name in rows]:
        if connection.exec_driver_sql(query.format(table=table)).scalar_one() < least:
            raise BackupBroken("broken.unguarded", table=table)


def check_invariants(connection: Connection) -> None:
    """Raises BackupBroken with the first violated invariant and the ids of the rows."""
    for code, query in INVARIANTS.items():
        found = connection.exec_driver_sql(f"{query} LIMIT 1").scalar()
        if found is not None:
            raise BackupBroken(code, number=found)
