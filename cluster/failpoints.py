"""Failpoints: named places at which a test kills the process as `kill -9` would; without a listener they do nothing.

Every commit has two (`jobs.attempts.record_end committing`, `… committed`) because the store itself names them after
the verb that writes; every call to something outside has two (`event_bus.publish asking`, `… answered`).
`GC_CRASH="event_bus.publish asking:2"` kills the process the second time; `any` counts every point, so that a test can
kill the process at the n-th of all failpoints, for every n until the process survives.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, TypeVar, cast

VARIABLE = "GC_CRASH"
FailpointListener = Callable[[str], None]
Thing = TypeVar("Thing")


class FailpointKiller:
    """Kills this process when it reaches the failpoint for the n-th time; `wanted` is `point:n`."""

    def __init__(self, wanted: str) -> None:
        self.point, _, number = wanted.partition(":")
        self.number = int(number or 1)
        self.passed: Counter[str] = Counter()

    def __call__(self, point: str) -> None:
        self.passed.update((point, "any"))
        if self.point in (point, "any") and self.passed[self.point] == self.number:
            os.kill(os.getpid(), signal.SIGKILL)


listener: FailpointListener | None = (
    FailpointKiller(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None
)
"""Set by the variable when a service starts, or by a test in a process of its own."""


def hit(point: str) -> None:
    if listener is not None:
        listener(point)


@contextmanager
def external_call(call: str) -> Iterator[None]:
    """Wraps a call that leaves a trace outside the database: of an executor, the event bus, or a file."""
    hit(f"{call} asking")
    yield
    hit(f"{call} answered")


def wrap_calls(thing: Thing, name: str, besides: frozenset[str] = frozenset()) -> Thing:
    """Returns the thing itself; while a listener is set, a proxy whose every method is a call to the outside.

    `besides` are methods that only read: a kill before them and one after them have the same effect.
    """
    return thing if listener is None else cast(Thing, _FailpointProxy(thing, name, besides))


class _FailpointProxy:
    """Calls the methods of `thing`, each between two failpoints, except those named in `besides`."""

    def __init__(self, thing: object, name: str, besides: frozenset[str]) -> None:
        self._thing, self._name, self._besides = thing, name, besides

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self._thing, verb)
        if verb in self._besides or not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            with external_call(f"{self._name}.{verb}"):
                return found(*arguments, **named)

        return call


def name_of_writing_verb() -> str:
    """Returns `jobs.attempts.record_end` for the function with this `with store.write()`; empty without a listener."""
    if listener is None:
        return ""
    # From here: the store's write(), contextlib's __enter__, and the verb itself.
    code = sys._getframe(3).f_code
    path = PurePath(code.co_filename)
    shelf = f"{path.parent.name}." if path.parent.parent.name == "services" else ""
    return f"{shelf}{path.stem}.{code.co_name}"
