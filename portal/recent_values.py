"""Values that every page shows besides its own content, read at most once a second by each process.

They are values that may be a second old: counts of the navigation, and the word for units. Sessions and permissions are
never among them.
"""

import threading
import time
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from flask import Flask, g, request

from portal.shared_objects import share_object, shared_object

Value = TypeVar("Value")

RECENT_SECONDS = 1.0
MOST_VALUES = 4096
EVERYBODY = 0
"""Replaces a person's id for values that are the same for all people."""


class RecentValues:
    """There is one per process, which threads share. With `seconds` 0 nothing is kept, for tests that change rows
    beside the portal.
    """

    def __init__(self, seconds: float = RECENT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.clock = clock
        self._by_person: dict[int, dict[Hashable, tuple[float, object]]] = {}
        self._locks: dict[Hashable, threading.Lock] = {}
        self._forgotten = 0

    def read(self, person: int, key: Hashable, read: Callable[[], Value]) -> Value:
        """The value of `read()`, begun less than `seconds` ago. The value is shared, so callers must not change it."""
        if (found := self._find(person, key)) is not None:
            return cast(Value, found[1])
        if person != EVERYBODY:
            return self._read_now(person, key, read)
        # If many threads ask for the same value, one of them reads it and the others wait.
        with self._locks.setdefault(key, threading.Lock()):
            if (found := self._find(person, key)) is not None:
                return cast(Value, found[1])
            return self._read_now(person, key, read)

    def forget(self, *people: int) -> None:
        self._forgotten += 1
        for person in people:
            self._by_person.pop(person, None)

    def _find(self, person: int, key: Hashable) -> tuple[float, object] | None:
        found = self._by_person.get(person, {}).get(key)
        return found if found is not None and self.clock() - found[0] < self.seconds else None

    def _read_now(self, person: int, key: Hashable, read: Callable[[], Value]) -> Value:
        forgotten, began, value = self._forgotten, self.clock(), read()
        if len(self._by_person) > MOST_VALUES:
            self._by_person.clear()
        if forgotten == self._forgotten:  # Otherwise the value may be older than the change.
            self._by_person.setdefault(person, {})[key] = (began, value)
        return value


def init_app(app: Flask) -> None:
    share_object(app, RecentValues, RecentValues(0 if app.testing else RECENT_SECONDS))
    app.teardown_request(forget_after_change)


def forget_after_change(_problem: BaseException | None) -> None:
    """Forgets the values of the person who has just changed something, so that the next page shows the change.
    Reports of agents are not such changes.
    """
    if request.method not in ("GET", "HEAD") and "node_token" not in g:
        actor = g.get("actor")
        recent_values().forget(EVERYBODY, actor.user_id if actor else EVERYBODY)


def recent_values() -> RecentValues:
    return shared_object(RecentValues)
