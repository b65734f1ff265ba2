"""Statements in which only the reader and values differ are built once: building one costs more than running it."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVarTuple, cast

from sqlalchemy import Connection, Integer, Result, Select, bindparam
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor

Columns = TypeVarTuple("Columns")
READER_ID = "reader_id"


class ReaderStatement(Generic[*Columns]):
    """`build` is called with an actor whose id is a parameter of the statement, once per role, shape and process.

    `shape` is whatever else changes the statement, such as the filters in use. Their values are parameters, too.
    """

    def __init__(self, build: Callable[..., Select[*Columns]]) -> None:
        self.build = build
        self.by_shape: dict[tuple[Hashable, ...], Select[*Columns]] = {}

    def execute(
        self, session: Session | Connection, reader: Actor, *shape: Hashable, **parameters: Any
    ) -> Result[*Columns]:
        """Executes the statement. For columns a plain connection (`read_columns`) is enough, with less work than a
        session.
        """
        key = reader.is_administrator, *shape
        statement = self.by_shape.get(key)
        if statement is None:
            statement = self.build(Actor(id_parameter(READER_ID), "", reader.is_administrator), *shape)
            self.by_shape[key] = statement
        return session.execute(statement, {READER_ID: reader.user_id} | parameters)


def id_parameter(name: str) -> int:
    """A parameter of a statement that stands for an id or a number of rows."""
    return cast(int, bindparam(name, type_=Integer()))
