"""Long work in the portal's process, in short turns with rests between, so that it delays nobody else's page.

Python runs one thread at a time: a thread that works for seconds makes every other request wait again and again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

TURN_SECONDS = 0.002
REST_SECONDS = 0.006
"""Belongs to the turn: however many ask for long work, all of it together has a quarter of the process."""

Item = TypeVar("Item")


class Pace:
    """One per process: one thread has the turn, works and rests; the others wait for theirs."""

    def __init__(self) -> None:
        self.turn = threading.Lock()

    def each(self, items: Iterable[Item], until: float) -> Iterator[Item]:
        """The same items, for as long as time.monotonic() is not past `until`: whoever takes them works in turns.

        The first one needs no turn: most files are no longer than that, and have come to their end then.
        """
        source = iter(items)
        yield from islice(source, 1)
        following = list(islice(source, 1))
        if not following:
            return
        source = chain(following, source)
        while time.monotonic() < until and self.turn.acquire(timeout=max(0.0, until - time.monotonic())):
            try:
                begun = time.monotonic()
                for item in source:
                    yield item
                    if time.monotonic() - begun >= TURN_SECONDS:
                        break
                else:
                    return
                time.sleep((time.monotonic() - begun) * REST_SECONDS / TURN_SECONDS)
            finally:
                self.turn.release()

    def turns(self, step: Callable[[], bool], until: float | None = None) -> Iterator[None]:
        """Calls `step` until it returns False or time.monotonic() is past `until`; comes back after each turn.

        The turn is free meanwhile: a reader who takes what was made slowly keeps nobody waiting.
        """
        goes_on = True
        while goes_on and (until is None or time.monotonic() < until):
            if not self.turn.acquire(timeout=-1 if until is None else max(0.0, until - time.monotonic())):
                return
            try:
                end = time.monotonic() + TURN_SECONDS
                while (goes_on := step()) and time.monotonic() < end:
                    pass
                if goes_on:
                    time.sleep(REST_SECONDS)
            finally:
                self.turn.release()
            yield
