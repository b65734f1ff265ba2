"""Insert hundreds of jobs in one statement; one statement per row would hold the write lock for seconds."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Integer,
    String,
    column,
    func,
    insert,
    literal,
    select,
    text,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session
from sqlalchemy.sql.selectable import Subquery
from sqlalchemy.types import TypeEngine

from cluster.store.base import Json
from cluster.store.jobs import Job, first_position, job_shape

OWN_COLUMNS: dict[str, TypeEngine[Any]] = {
    "id": Integer(),
    "position": BigInteger(),
    "sweep_number": Integer(),
    "name": String(60),
}
OWN_JSON_COLUMNS = ("command", "variables")
RESERVE_IDS = text("SELECT nextval(pg_get_serial_sequence('jobs', 'id')) FROM generate_series(1, :number)")
BATCH_SIZE = 500
"""Rows per statement. While they are encoded as JSON, no other thread of this process can run."""
LAST_ID = text("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'")


def insert_jobs(session: Session, shared: Mapping[str, Any], own: Sequence[Mapping[str, Any]]) -> None:
    """`own` has sweep_number, name, command and variables of each job. All other columns are `shared`."""
    ids = reserve_ids(session, len(own))
    rows = [
        {"id": job_id, "position": first_position(job_id, shared["priority"]), **row}
        for job_id, row in zip(ids, own, strict=True)
    ]
    alike = ("units", "time_limit_seconds", "dataset_id", "sweep_id", "environment_id")
    shape = job_shape(*(shared.get(name) for name in alike))  # type: ignore[arg-type]
    same = {**shared, "shape": shape}
    for name in (*OWN_COLUMNS, *OWN_JSON_COLUMNS):
        same.pop(name, None)
    for first in range(0, len(rows), BATCH_SIZE):
        insert_batch(session, same, rows[first : first + BATCH_SIZE])


def insert_batch(session: Session, same: Mapping[str, Any], rows: list[dict[str, Any]]) -> None:
    columns = Job.__table__.columns
    given = rows_as_table(session, rows)
    source = select(
        *(literal(value, columns[name].type).label(name) for name, value in same.items()),
        *(given.c[name] for name in (*OWN_COLUMNS, *OWN_JSON_COLUMNS)),
    )
    session.execute(insert(Job).from_select([*same, *OWN_COLUMNS, *OWN_JSON_COLUMNS], source))


def reserve_ids(session: Session, number: int) -> list[int]:
    """Reserves ids that no other transaction will get."""
    if session.get_bind().dialect.name == "postgresql":
        # Two transactions could get the same block by setval(), but not by nextval().
        return list(session.connection().scalars(RESERVE_IDS, {"number": number}))
    # This transaction is the only writer from its first statement on.
    last = session.connection().scalar(LAST_ID) or 0
    return list(range(last + 1, last + number + 1))


def rows_as_table(session: Session, rows: list[dict[str, Any]]) -> Subquery:
    """The rows as a table with the jobs' own columns, sent as one JSON array."""
    if session.get_bind().dialect.name == "postgresql":
        typed = [
            column(name, kind)
            for name, kind in (OWN_COLUMNS | dict.fromkeys(OWN_JSON_COLUMNS, JSONB())).items()
        ]
        sent = func.jsonb_to_recordset(literal(rows, JSONB())).table_valued(*typed)
        return select(*sent.render_derived(with_types=True).c).subquery()
    value = func.json_each(json.dumps(rows)).table_valued("value").c.value
    plain = [
        func.json_extract(value, f"$.{name}", type_=kind).label(name) for name, kind in OWN_COLUMNS.items()
    ]
    # json_extract returns an object as text, which is what a JSON column stores.
    whole = [
        type_coerce(func.json_extract(value, f"$.{name}"), Json).label(name) for name in OWN_JSON_COLUMNS
    ]
    return select(*plain, *whole).subquery()
