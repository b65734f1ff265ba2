"""The base of all rows: constraint names, aware UTC times, enums by value, JSON."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Enum, MetaData, TypeDecorator
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
"""What an Integer column holds on PostgreSQL."""


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC in and out; SQLite keeps it without an offset. A naive time is a bug and says so."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive datetime {value!r} for the store")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Json = JSON().with_variant(JSONB(), "postgresql")


def enum_column(states: type[StrEnum]) -> Enum:
    """A text column that the database itself holds to the values, by a constraint `ck_<table>_<enum>`."""
    return Enum(
        states,
        values_callable=lambda kinds: [kind.value for kind in kinds],
        native_enum=False,
        create_constraint=True,
        length=20,
        name=states.__name__.lower(),
    )


class BaseRow(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: Json, list[Any]: Json}
