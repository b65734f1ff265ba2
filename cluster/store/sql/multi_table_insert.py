"""Insert rows of several tables in one statement on PostgreSQL, which saves a round trip per table."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, FromClause, Insert, bindparam, insert

Values = Mapping[str, Any]


def insert_rows(connection: Connection, *rows: tuple[FromClause, Values]) -> None:
    """Inserts one row each, in this order. Rows that refer to others must know the others' ids before.

    SQLite gets one statement per row, which costs no round trip.
    """
    if connection.dialect.name == "postgresql":
        statement = build_insert(tuple((table, tuple(values)) for table, values in rows))
        connection.execute(statement, bind_values(rows))
        return
    for row in rows:
        connection.execute(build_insert(((row[0], tuple(row[1])),)), bind_values((row,)))


def bind_values(rows: Sequence[tuple[FromClause, Values]]) -> dict[str, Any]:
    return {f"{name}_{number}": value for number, (_, row) in enumerate(rows) for name, value in row.items()}


@cache
def build_insert(tables: tuple[tuple[FromClause, tuple[str, ...]], ...]) -> Insert:
    """The statement, made once per combination of columns. All inserts but the last are its
    common table expressions.
    """
    *first, last = (insert_of_row(number, *each) for number, each in enumerate(tables))
    return last.add_cte(*(each.cte(f"row_{number}") for number, each in enumerate(first)))


def insert_of_row(number: int, table: Any, names: tuple[str, ...]) -> Insert:
    given = {name: bindparam(f"{name}_{number}", type_=table.c[name].type) for name in names}
    return insert(table).values(given).inline()
