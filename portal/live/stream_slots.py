"""Limits how many event streams are open at a time: each holds a thread."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cluster.domain.errors import Unavailable

MAX_STREAMS_PER_PERSON = 12
MAX_STREAMS = 190
"""Leaves threads for ordinary requests, see gunicorn.py."""


class StreamSlots:
    """How many streams there are, per person and together: each holds a thread.

    `is_closing` is asked by every stream each second, so that a stop need not wait for tabs to close.
    """

    def __init__(self, is_closing: Callable[[], bool] = lambda: False) -> None:
        self.is_closing = is_closing
        self.used_by_person: Counter[int] = Counter()
        self.lock = threading.Lock()

    @contextmanager
    def hold_slot(self, user_id: int) -> Iterator[None]:
        """Raises TooManyStreams if the person's slots, or all slots, are taken."""
        with self.lock:
            if self.used_by_person[user_id] >= MAX_STREAMS_PER_PERSON:
                raise TooManyStreams("stream.too_many", most=MAX_STREAMS_PER_PERSON)
            if self.used_by_person.total() >= MAX_STREAMS:
                raise TooManyStreams("stream.all_taken")
            self.used_by_person[user_id] += 1
        try:
            yield
        finally:
            with self.lock:
                self.used_by_person[user_id] -= 1
                self.used_by_person += Counter()  # Keeps the people who have one.


class TooManyStreams(Unavailable):
    """Another stream would take a thread that ordinary requests need."""
