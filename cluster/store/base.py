"""The base of all rows: constraint names, aware UTC times, enums by value, JSON."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Enum, MetaData, Table, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


LARGEST_ID = 2**31 - 1
"""The largest value of an Integer column on PostgreSQL."""


class UtcDateTime(TypeDecorator[datetime]):
    """Accepts and returns aware UTC times. SQLite stores them without an offset. A naive time raises an error."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive datetime {value!r} for the store")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        """Returns a function with one call per value, because a pass over the queue reads a thousand times."""
        parse = self.impl_instance.dialect_impl(dialect).result_processor(dialect, coltype)
        if parse is None:
            return as_utc
        return lambda value: as_utc(parse(value))


def as_utc(value: datetime | None) -> datetime | None:
    """A time that the database gave, which on SQLite has no zone."""
    if value is None or value.tzinfo is UTC:
        return value
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Json = JSON().with_variant(JSONB(), "postgresql")
NullableJson = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""Stores None as NULL, so that a constraint or an index can ask for it."""


def enum_column(states: type[StrEnum], is_checked: bool = True) -> Enum:
    """A text column whose values the database checks, by a constraint `ck_<table>_<enum>`, unless the column came to a
    large table later: SQLite would copy all of it for a constraint.
    """
    return Enum(
        states,
        values_callable=lambda kinds: [kind.value for kind in kinds],
        native_enum=False,
        create_constraint=is_checked,
        length=20,
        name=states.__name__.lower(),
    )


class BaseRow(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: Json, list[Any]: Json}


def table_of(row: type[BaseRow]) -> Table:
    """The table itself, for statements that do not use the mapper."""
    return row.metadata.tables[row.__tablename__]
