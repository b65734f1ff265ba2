"""Statements in which only the reader differs are built once for each role: building one costs more than running it."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import Integer, Result, Select, bindparam
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor

Columns = TypeVar("Columns", bound=tuple[Any, ...])
READER_ID = "reader_id"


class ReaderStatement(Generic[Columns]):
    """`build` is called with an actor whose id is a parameter of the statement, once per role and process."""

    def __init__(self, build: Callable[[Actor], Select[Columns]]) -> None:
        self.build = build
        self.by_role: dict[bool, Select[Columns]] = {}

    def execute(self, session: Session, reader: Actor, **parameters: Any) -> Result[Columns]:
        is_administrator = reader.is_administrator
        statement = self.by_role.get(is_administrator)
        if statement is None:
            parameter = cast(int, bindparam(READER_ID, type_=Integer()))
            statement = self.build(Actor(parameter, "", is_administrator))
            self.by_role[is_administrator] = statement
        return session.execute(statement, {READER_ID: reader.user_id} | parameters)
