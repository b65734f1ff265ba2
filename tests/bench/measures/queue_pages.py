"""The queue's page and the queue over REST, one reader after another, with many jobs waiting in 200 workspaces."""

import time
from collections.abc import Callable

from cluster.services.people.sessions import begin_session
from tests.bench.bench_installation import House
from tests.bench.bench_run import Ground
from tests.bench.bulk_rows import clear, fill
from tests.bench.rest_clients import Client, Unexpected
from tests.bench.results import missing

MEASURE = "Q"
TITLE = "The queue's pages"
PATHS = ("/queue", "/api/v1/queue")


def run(ground: Ground) -> None:
    depth = ground.depths[-1]
    for house in ground.houses.values():
        clear(house.cluster)
        fill(house.cluster, house.elsewhere, depth)
    for path in PATHS:
        case = f"GET {path}, {depth:,} queued"
        with missing(ground.ledger, case, Unexpected):
            ground.alternate({name: read_ours(ground, name, path, case) for name in ground.houses})
    for house in ground.houses.values():
        clear(house.cluster)


def read_ours(ground: Ground, name: str, path: str, case: str) -> Callable[[], None]:
    def turn() -> None:
        took = read(ground.houses[name], path, ground.few(3, 30))
        ground.ledger.latencies(MEASURE, case, name, took)

    return turn


def read(house: House, path: str, count: int) -> list[float]:
    client = Client(house.port, house.token)
    if not path.startswith("/api/"):
        secret = begin_session(house.cluster, house.actor.user_id, "127.0.0.1", "benchmark")
        client.headers = {"Cookie": f"gc_session_{house.port}={secret}"}
    client.ask("GET", path)
    took = []
    for _ in range(count):
        begun = time.perf_counter()
        client.ask("GET", path)
        took.append(time.perf_counter() - begun)
    return took
