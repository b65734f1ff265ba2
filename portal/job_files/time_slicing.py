"""Runs long work in short time slices with pauses, so that it does not delay other requests of the process.

Python runs one thread at a time: a thread that works for seconds makes every other request wait again and again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

SLICE_SECONDS = 0.002
REST_SECONDS = 0.003
"""Belongs to the turn: however many ask for long work, all of it together has two fifths of the process."""
LATE_SECONDS = 0.0005
"""A rest that ends so late says that others have work for the process: then it is one rest more."""
MOST_RESTS = 4
"""So that long work comes to its end on a busy machine too: an eighth of the process is its own."""

Item = TypeVar("Item")


class TimeSlicer:
    """One per process: one thread has the turn, works and rests; the others wait for theirs."""

    def __init__(self) -> None:
        self.turn = threading.Lock()

    def slice_items(self, items: Iterable[Item], until: float) -> Iterator[Item]:
        """The same items, for as long as time.monotonic() is not past `until`: the caller works on them in turns.

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
                    if time.monotonic() - begun >= SLICE_SECONDS:
                        break
                else:
                    return
                rest((time.monotonic() - begun) * REST_SECONDS / SLICE_SECONDS)
            finally:
                self.turn.release()

    def run_steps(self, step: Callable[[], bool], until: float | None = None) -> Iterator[None]:
        """Calls `step` until it returns False or time.monotonic() is past `until`; comes back after each turn.

        The turn is free meanwhile: a reader who takes what was made slowly keeps nobody waiting.
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
    """Until nobody else has work for the process, a few times that long at most."""
    for _ in range(MOST_RESTS):
        due = time.monotonic() + seconds
        time.sleep(seconds)
        if time.monotonic() - due < LATE_SECONDS:
            return
