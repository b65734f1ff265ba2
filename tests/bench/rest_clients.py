"""Clients of the REST API that cost little themselves: one kept connection each."""

import http.client
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


class Client:
    """Raises Unexpected where the answer has another status than the one expected."""

    def __init__(self, port: int, token: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Body | None = None, expected: int = 200) -> Any:
        self.connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status != expected:
            raise Unexpected(f"{method} {path}: {answer.status} {content[:500]!r}")
        return (
            json.loads(content) if content and "json" in (answer.headers["Content-Type"] or "") else content
        )

    def close(self) -> None:
        self.connection.close()


class Unexpected(Exception):
    """An answer that no measurement may count."""


@dataclass
class Loop:
    """What one closed loop saw; times in seconds."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


def closed_loop(clients: int, seconds: float, act: Callable[[int], Callable[[], object]]) -> Loop:
    """Each of `clients` threads calls what `act(number)` returned again and again for `seconds`."""
    loop, gate = Loop(), threading.Barrier(clients + 1)
    found: list[list[float]] = [[] for _ in range(clients)]
    troubles: list[Exception] = []

    def run(number: int) -> None:
        step = act(number)
        gate.wait()
        end = time.perf_counter() + seconds
        try:
            while (begun := time.perf_counter()) < end:
                step()
                found[number].append(time.perf_counter() - begun)
        except (Unexpected, OSError) as trouble:
            troubles.append(trouble)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    gate.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    if troubles:
        raise troubles[0]
    loop.seconds = time.perf_counter() - begun
    loop.latencies = [latency for each in found for latency in each]
    return loop
