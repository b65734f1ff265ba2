"""The limit of passwords that are hashed at a time, and the delay of tries from a suspicious address. Each portal
process counts for itself; portal/gunicorn.py starts at most two.
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

HASHES_PER_PROCESS = 2
"""The processes hash four at a time in all: each takes 19 MiB and a processor."""
HASHING = threading.BoundedSemaphore(HASHES_PER_PROCESS)
MOST_HELD_BACK = 32
"""The most tries that wait in a process; each holds a thread."""


class SlowLane:
    """Delays tries and refuses none. If too many tries wait already, the next one is judged at once, so that a flood of
    tries keeps nobody out. The flood gains little, because tries with one name are refused after a few.
    """

    def __init__(self, wait: Callable[[float], None] = time.sleep, places: int = MOST_HELD_BACK) -> None:
        self.wait = wait
        self.places = threading.BoundedSemaphore(places)

    def hold_back(self, delay: timedelta) -> None:
        if delay and self.places.acquire(blocking=False):
            try:
                self.wait(delay.total_seconds())
            finally:
                self.places.release()


SLOW_LANE = SlowLane()
