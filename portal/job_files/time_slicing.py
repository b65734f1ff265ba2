"""Runs long work in short time slices with pauses, so that it does not delay other requests of the process.

Python runs one thread at a time, so a thread that works for seconds would delay every other request repeatedly.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

SLICE_SECONDS = 0.002
REST_SECONDS = 0.003
"""The pause belongs to the turn, so all long work together uses at most two fifths of the process."""
LATE_SECONDS = 0.0005
"""If a pause ends this late, other threads have work, and another pause follows."""
MOST_RESTS = 4
"""The largest number of pauses, so that long work also ends on a busy machine: it gets at least an eighth of the
process.
"""

Item = TypeVar("Item")


class TimeSlicer:
    """The slicer of a process. One thread has the turn, works and pauses; the others wait for their turns."""

    def __init__(self) -> None:
        self.turn = threading.Lock()

    def slice_items(self, items: Iterable[Item], until: float) -> Iterator[Item]:
        """Yields the items until time.monotonic() is past `until`. The caller works on them in turns.

        The first item needs no turn, because most files have no more.
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
                    if time.monotonic() - begun >= SLICE_SECONDS:
                        break
                else:
                    return
                rest((time.monotonic() - begun) * REST_SECONDS / SLICE_SECONDS)
            finally:
                self.turn.release()

    def run_steps(self, step: Callable[[], bool], until: float | None = None) -> Iterator[None]:
        """Calls `step` until it returns False or time.monotonic() is past `until`. Yields after each turn.

        No turn is held while it yields, so a slow reader delays nobody.
        """
        goes_on = True
        while goes_on and (until is None or time.monotonic() < until):
            if not self.turn.acquire(timeout=-1 if until is None else max(0.0, until - time.monotonic())):
                return
            try:
                end = time.monotonic() + SLICE_SECONDS
                while (goes_on := step()) and time.monotonic() < end:
                    pass
                if goes_on:
                    rest(REST_SECONDS)
            finally:
                self.turn.release()
            yield


def rest(seconds: float) -> None:
    """Pauses until no other thread has work for the process, but only a few times `seconds`."""
    for _ in range(MOST_RESTS):
        due = time.monotonic() + seconds
        time.sleep(seconds)
        if time.monotonic() - due < LATE_SECONDS:
            return
