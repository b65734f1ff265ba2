"""Hashing passwords leaves room for everything else, and holding tries back keeps nobody out."""

import re
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.services.people import credentials
from cluster.services.people.password_slots import HASHES_PER_PROCESS, SlowLane
from tests.simultaneous_calls import at_once

GUNICORN = Path(__file__).parents[5] / "portal/gunicorn.py"


def test_four_passwords_are_hashed_at_a_time_in_an_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = re.search(r"^MOST_WORKERS = (\d+)$", GUNICORN.read_text(), re.M)
    assert processes is not None and HASHES_PER_PROCESS * int(processes[1]) == 4
    credentials.dummy_hash()
    lock, together = threading.Lock(), threading.Barrier(HASHES_PER_PROCESS)
    numbers = [0]

    class CountingHasher:
        at_work = 0

        def verify(self, password_hash: str, password: bytes) -> bool:
            with lock:
                self.at_work += 1
                numbers.append(self.at_work)
            together.wait(20)
            with lock:
                self.at_work -= 1
            return True

    monkeypatch.setattr(credentials, "HASHER", CountingHasher())
    assert at_once(*[lambda: credentials.is_password("hash", "password")] * 8) == [True] * 8
    assert max(numbers) == HASHES_PER_PROCESS


def test_a_try_that_finds_no_place_is_not_held_back() -> None:
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        lane.hold_back(timedelta(seconds=2))

    lane = SlowLane(wait, places=1)
    lane.hold_back(timedelta(0))
    assert waited == []
    lane.hold_back(timedelta(seconds=1))
    lane.hold_back(timedelta(seconds=3))
    assert waited == [1.0, 3.0]
