"""What a database holds, read the same way from the living one, from its copy and from what a drill has restored."""

from dataclasses import dataclass

from sqlalchemy import Connection, inspect

GUARDED = ("audit_entries", "audit_seals")
"""The second one is younger than the oldest backups."""
GUARDS = {
    "sqlite": (3, "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = '{table}'"),
    "postgresql": (
        1,
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass('public.{table}')"
        " AND NOT tgisinternal AND tgenabled <> 'D'",
    ),
}
"""How many triggers keep each of the audit's tables append-only, and how they are counted."""


class BackupBroken(Exception):
    """What is wrong with it, in words for the manifest."""


@dataclass(frozen=True)
class Content:
    """Migration, rows by table, and the newest entry of the audit; None: it has none yet."""

    revision: str
    rows: dict[str, int]
    audit_head: int | None


def read_content(connection: Connection) -> Content:
    """Raises BackupBroken where it is no database of ours."""
    rows = count_rows(connection)
    if not {"alembic_version", "audit_entries", "users"} <= set(rows):
        raise BackupBroken(
            "it is no database of Groundcrew: the tables of its users and its audit are missing"
        )
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    head = connection.exec_driver_sql("SELECT max(id) FROM audit_entries").scalar()
    return Content(str(revision), rows, head)


def count_rows(connection: Connection) -> dict[str, int]:
    """Of every table, by its name."""
    quote = connection.dialect.identifier_preparer.quote
    return {
        name: int(connection.exec_driver_sql(f"SELECT count(*) FROM {quote(name)}").scalar_one())
        for name in sorted(inspect(connection).get_table_names())
    }


def compare(found: Content, expected: Content) -> None:
    """Raises BackupBroken with the first difference."""
    if found.revision != expected.revision:
        raise BackupBroken(f"it is of migration {found.revision}, its manifest says {expected.revision}")
    for name in sorted({*found.rows, *expected.rows}):
        there, said = found.rows.get(name), expected.rows.get(name)
        if there != said:
            raise BackupBroken(f"{name} has {there} rows, its manifest says {said}")
    if found.audit_head != expected.audit_head:
        raise BackupBroken(
            f"its newest audit entry is {found.audit_head}, its manifest says {expected.audit_head}"
        )


def check_guards(connection: Connection, rows: dict[str, int]) -> None:
    """Raises BackupBroken where the audit could be changed unseen."""
    least, query = GUARDS[connection.dialect.name]
    for table in [name for name in GUARDED if name in rows]:
        if connection.exec_driver_sql(query.format(table=table)).scalar_one() < least:
            raise BackupBroken(f"the trigger that keeps the audit append-only is missing on {table}")
