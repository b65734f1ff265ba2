"""A cached property without a lock.

The one of functools holds a lock for all objects of a class while it computes (until Python 3.12), so a page that
waits for one job's file would delay the pages of all other jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class unlocked_cached_property(Generic[Value]):
    """Two threads that ask at once may both compute it; the objects that use it belong to one request."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, of: None, owner: type) -> unlocked_cached_property[Value]: ...

    @overload
    def __get__(self, of: object, owner: type) -> Value: ...

    def __get__(self, of: object | None, owner: type) -> unlocked_cached_property[Value] | Value:
        if of is None:
            return self
        # The value is stored in the object, which may be frozen. Python then finds it without calling this method.
        value: Value = of.__dict__.setdefault(self.name, self.compute(of))
        return value
