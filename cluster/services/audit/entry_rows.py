"""Reads audit entries and the audit's own facts as text, whatever they contain. Every service may add entries and write
facts. If somebody has taken over a service, its entries must stop neither the sealing nor the check of seals: a time
that Python cannot represent, JSON that is nested too deeply, a value of a gigabyte.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert
from sqlalchemy.orm import Session

from cluster.store.audit import AuditEntry
from cluster.store.facts import FACT, InstallationFact

DECODER = json.JSONDecoder()
FULL_TIME_LENGTH = len("2026-11-20 18:00:00.000001")
ENTRY_COLUMNS = tuple(column.key for column in AuditEntry.__table__.columns)
BEFORE_ALL = -(2**63)
"""A number below the id of every entry, because a service may have added an entry with an id below 1."""
DEEPEST = 100
"""Levels of JSON that are parsed."""
BRACKETS = re.compile(r"[\[\]{}]")
LARGEST_DATA = 1024 * 1024
"""The bytes of `data` that are read. Of a longer text the digest is read instead."""
TEXT_EXPRESSIONS = {
    "postgresql": {
        "at": """to_char("at" AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')""",
        # The stored size is known without unpacking the value; a compressed one may be a hundred times as long.
        "data": f"""CASE WHEN pg_column_size(data) > 2000 AND octet_length(data::text) > {LARGEST_DATA}
THEN 'sha256 ' || encode(sha256(convert_to(data::text, 'UTF8')), 'hex') ELSE data::text END AS data""",
    }
}
"""SQL expressions that return these columns as text: parsing them in the driver and formatting them again costs most
of the time. SQLite stores both as text."""


@dataclass(frozen=True)
class EntryRows:
    """Entries as mappings of all columns, as the seals cover them. Each is made when it is needed, because all at once
    would slow down the garbage collector.
    """

    rows: Sequence[Row[Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            entry = dict(zip(ENTRY_COLUMNS, row, strict=True))
            entry["at"], entry["data"] = to_utc_text(str(entry["at"])), parse_json_text(str(entry["data"]))
            yield entry


def read_entry_rows(
    connection: Connection,
    after: int,
    until: int | None = None,
    condition: str = "",
    limit: int | None = None,
) -> EntryRows:
    """The entries with a larger id than `after`, in the order of their ids.

    Reads with the driver alone, because a million entries are read each night and SQLAlchemy's types take most of
    the time.
    """
    plain = TEXT_EXPRESSIONS.get(connection.dialect.name, {})
    columns = ", ".join(plain.get(name, name) for name in ENTRY_COLUMNS)
    where = f"id > {int(after)}" + ("" if until is None else f" AND id <= {int(until)}") + condition
    most = "" if limit is None else f" LIMIT {int(limit)}"
    return EntryRows(
        connection.exec_driver_sql(
            f"SELECT {columns} FROM audit_entries WHERE {where} ORDER BY id{most}"
        ).all()
    )


def parse_json_text(text: str) -> Any:
    """Parses JSON as `json.loads`, but three times as fast for short texts. Invalid JSON stays text, and so does JSON
    that is nested too deeply: the depth that Python's own parser reaches depends on its caller.
    """
    if len(text) > 2 * DEEPEST and is_too_deep(text):
        return text
    try:
        value, end = DECODER.raw_decode(text)
        return value if end == len(text) else json.loads(text)
    except ValueError:
        return text


def is_too_deep(text: str) -> bool:
    """Counts brackets within strings as well, so a shallow text with many brackets may also count as deep."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for bracket in BRACKETS.findall(text):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST:
            return True
    return False


def to_utc_text(text: str) -> str:
    """The database's text, which has no offset, as an ISO text in UTC. Text that is no time stays as it is."""
    if len(text) == FULL_TIME_LENGTH and text[10] == " " and not text.endswith(".000000"):
        return f"{text[:10]}T{text[11:]}+00:00"
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).isoformat()
    except ValueError:
        return text


def parse_aware_moment(text: object) -> datetime | None:
    """Returns None for text that is not a time with a zone."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def read_audit_fact(session: Session, name: str) -> Mapping[str, Any]:
    """Returns the fact, or an empty one if it is missing or cannot be read."""
    try:
        value = session.scalar(FACT, {"name": name})
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_whole_number(fact: Mapping[str, Any], name: str) -> int | None:
    value = fact.get(name)
    return value if type(value) is int and 0 <= value < 2**63 else None


def replace_fact(session: Session, name: str, value: Mapping[str, Any]) -> None:
    """Replaces the fact without reading its old value, which may have any form."""
    session.execute(
        delete(InstallationFact)
        .where(InstallationFact.name == name)
        .execution_options(synchronize_session=False)
    )
    session.execute(insert(InstallationFact).values(name=name, value=dict(value)))
