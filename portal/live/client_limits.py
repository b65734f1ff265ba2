"""Limits of one session in this process: its chunks of logs wait for each other, and a refused stream is refused again
cheaply.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cluster.domain.errors import Unavailable

CONCURRENT_REQUESTS = 2
"""Chunks of one session that are read at a time."""
MAX_OPEN_REQUESTS = 32
"""The limit includes requests that wait."""
REFUSED_SECONDS = 2.0
"""The time for which a session that was refused a stream is refused again without a read of the database."""
MAX_REFUSED_SESSIONS = 4096


class TooManyRequests(Unavailable):
    """The session has too many requests open."""

    def __init__(self) -> None:
        super().__init__("http.429")


@dataclass
class OpenRequests:
    count: int = 0
    semaphore: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CONCURRENT_REQUESTS))


class ClientLimits:
    """The limits by the token that was sent, whether it belongs to a session or not."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.open_by_token: dict[str, OpenRequests] = {}
        self.refused_until: OrderedDict[str, float] = OrderedDict()

    @asynccontextmanager
    async def take_turn(self, token: str) -> AsyncIterator[None]:
        """Raises TooManyRequests."""
        requests = self.open_by_token.setdefault(token, OpenRequests())
        if requests.count >= MAX_OPEN_REQUESTS:
            raise TooManyRequests
        requests.count += 1
        try:
            async with requests.semaphore:
                yield
        finally:
            requests.count -= 1
            if requests.count == 0:
                del self.open_by_token[token]

    def note_refusal(self, token: str) -> None:
        self.refused_until[token] = self.clock() + REFUSED_SECONDS
        self.refused_until.move_to_end(token)
        while len(self.refused_until) > MAX_REFUSED_SESSIONS:
            self.refused_until.popitem(last=False)

    def is_refused_for_now(self, token: str) -> bool:
        """A repeated refusal does not extend the time: a client that keeps asking is answered again after a while."""
        return self.refused_until.get(token, 0.0) > self.clock()
