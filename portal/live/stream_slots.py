"""Limits how many event streams are open at a time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from cluster.domain.errors import Unavailable

MAX_STREAMS_PER_PERSON = 12
MAX_STREAMS = 2_000
"""Each stream takes two of nginx' connections on one machine (worker/embedded/nginx.py)."""


class StreamSlots:
    """The number of open streams, per person and in all."""

    def __init__(self) -> None:
        self.used_by_person: Counter[int] = Counter()

    @contextmanager
    def hold_slot(self, user_id: int) -> Iterator[None]:
        """Raises TooManyStreams if the person's slots, or all slots, are taken."""
        if self.used_by_person[user_id] >= MAX_STREAMS_PER_PERSON:
            raise TooManyStreams("stream.too_many", most=MAX_STREAMS_PER_PERSON)
        if self.used_by_person.total() >= MAX_STREAMS:
            raise TooManyStreams("stream.all_taken")
        self.used_by_person[user_id] += 1
        try:
            yield
        finally:
            self.used_by_person[user_id] -= 1
            self.used_by_person += Counter()  # Keeps the people who have one.


class TooManyStreams(Unavailable):
    """The person has as many streams as one may have, or everybody together."""
