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
            self.used_by_person += Counter()  # Only people with open streams are kept.


class TooManyStreams(Unavailable):
    """The person has the most streams that a person may have, or all people together have."""
