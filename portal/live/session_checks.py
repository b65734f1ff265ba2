"""Which sessions of open streams still live: one read answers for all streams of the process."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cluster.services.context import Cluster
from cluster.services.people import sessions

CHECK_SECONDS = 3.0


class SessionChecks:
    """The tokens of open streams, and those whose session was over at the last read."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float] = time.monotonic) -> None:
        self.cluster = cluster
        self.clock = clock
        self.streams_by_token: Counter[str] = Counter()
        self.ended: frozenset[str] = frozenset()
        self.due_at = 0.0
        self.lock = threading.Lock()
        self.read_lock = threading.Lock()

    @contextmanager
    def watch(self, token: str) -> Iterator[None]:
        """Keeps the token among those that are read, while a stream of its session is open."""
        with self.lock:
            self.streams_by_token[token] += 1
        try:
            yield
        finally:
            with self.lock:
                self.streams_by_token[token] -= 1
                self.streams_by_token += Counter()  # Keeps the tokens that have a stream.

    def is_live(self, token: str) -> bool:
        """As it was at most `CHECK_SECONDS` ago. Every stream waits while one of them reads."""
        with self.read_lock:
            now = self.clock()
            if now >= self.due_at:
                with self.lock:
                    tokens = frozenset(self.streams_by_token)
                self.ended = tokens - sessions.filter_live_tokens(self.cluster, tokens)
                self.due_at = now + CHECK_SECONDS
        return token not in self.ended
