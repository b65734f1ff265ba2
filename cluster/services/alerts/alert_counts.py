"""Counts the alerts of all kinds by one statement, which every page asks for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Result, Select, func, select

from cluster.domain.alerts import Alert
from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.store.sql.reader_statement import ReaderStatement

MAX_COUNTED = 1_000
MAX_PER_KIND = 3
"""The number of alerts of one kind that are named. The others are counted."""


@dataclass(frozen=True)
class AlertSource:
    """The alerts of one kind. `count` makes an SQL expression: whether there are any, or how many (at most 1,001)."""

    count: Callable[[], ColumnElement[Any]]
    read: Callable[[], Iterable[Alert]]


class AlertCounts:
    """The statement that counts alerts, for each role. It is built once a second, because it names the time."""

    def __init__(self, list_sources: Callable[[Cluster, Actor], Iterable[AlertSource]]) -> None:
        self.list_sources = list_sources
        self.by_role: dict[bool, tuple[datetime, ReaderStatement[*tuple[Any, ...]]]] = {}

    def execute(self, connection: Connection, cluster: Cluster, reader: Actor) -> Result[*tuple[Any, ...]]:
        """One row with the count of each source, in their order."""
        second = cluster.clock().replace(microsecond=0)
        built = self.by_role.get(reader.is_administrator)
        if built is None or built[0] != second:
            built = second, ReaderStatement(partial(self.select_counts, cluster))
            self.by_role[reader.is_administrator] = built
        return built[1].execute(connection, reader)

    def select_counts(self, cluster: Cluster, reader: Actor) -> Select[*tuple[Any, ...]]:
        return select(*(source.count() for source in self.list_sources(cluster, reader)))


def capped_count(query: Select[*tuple[Any, ...]]) -> ColumnElement[int]:
    """Counts the rows of the query, at most 1,001."""
    some = query.limit(MAX_COUNTED + 1).subquery()
    return select(func.count()).select_from(some).scalar_subquery()
