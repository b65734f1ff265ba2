"""Submissions that were acknowledged, per second: eight clients, each sending the next when the last was answered.

Ours go over HTTP with a token, are checked, and are committed with their history and audit entry. Slurm's are
`sbatch` processes, HyperQueue's and RQ's are calls of their Python clients.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil

from cluster.domain.states import ENDED_JOB_STATES, JobState
from tests.bench.baselines.slurm import Slurm
from tests.bench.bench_installation import House, wait_until
from tests.bench.bench_run import DURABLE, HQ, RQ, SLOTS, SLURM, Ground, at_rest, services_of
from tests.bench.bulk_rows import forget_waiting
from tests.bench.floors import one_row_requests
from tests.bench.queue_depths import OF_SLURM, at_each_depth, fill_slurm
from tests.bench.rest_clients import Client, closed_loop

MEASURE = "P1"
TITLE = "Durable submissions"
CLIENTS = 8


def run(ground: Ground) -> None:
    at_each_depth(ground, turns_of)
    one_row_requests.run(ground, MEASURE, CLIENTS)


def turns_of(ground: Ground, depth: int) -> dict[str, Callable[[], None]]:
    case = f"{depth:,} queued"
    turns: dict[str, Callable[[], None]] = {
        name: lambda name=name: submit_to_us(ground, name, case)  # type: ignore[misc]
        for name in ground.houses
    }
    if (cluster := ground.slurm) and depth <= OF_SLURM:
        turns[SLURM] = lambda: note(ground, SLURM, case, submit_to_slurm(cluster, ground.few(100, 600)))
    if (queue := ground.rq) and depth == 0:
        turns[RQ] = lambda: note(ground, RQ, case, enqueue(queue.queue, ground.few(200, 2000)))
    if (hq := ground.hyperqueue) and depth == 0:
        turns[HQ] = lambda: note(ground, HQ, case, hq.submissions(ground.few(100, 500)))
    return turns


def note(ground: Ground, contender: str, case: str, rate: float) -> None:
    ground.ledger.value(MEASURE, case, contender, "/s", rate, DURABLE[contender])


def submit_to_us(ground: Ground, contender: str, case: str) -> None:
    house = ground.houses[contender]
    with full(house):
        before = cpu_seconds(house)
        body = {"training_id": house.training_id, "units": 1, "name": "more", "command": ["sh", "stamp.sh"]}

        def client(number: int) -> Callable[[], object]:
            client = Client(house.port, house.token)
            return lambda: client.ask("POST", "/api/v1/jobs", body, 201)

        loop = closed_loop(CLIENTS, ground.few(1, 3), client)
        after = cpu_seconds(house)
        note(ground, contender, case, loop.rate)
        ground.ledger.latencies(f"{MEASURE}, time to the answer", case, contender, loop.latencies)
        for name in before:
            spent = (after.get(name, 0.0) - before[name]) / len(loop.latencies)
            ground.ledger.value(
                f"{MEASURE}, CPU per submission", f"{name}, {case}", contender, "ms", spent * 1000
            )
        with at_rest(house):
            forget_waiting(house.cluster, house.training_id)


@contextmanager
def full(house: House) -> Iterator[None]:
    """Both units of the workspace are held by jobs that sleep, so that what is submitted waits."""
    client = Client(house.port, house.token)
    body = {"training_id": house.training_id, "units": 1, "name": "sleeper", "command": ["sleep", "100000"]}
    jobs = [client.ask("POST", "/api/v1/jobs", body, 201)["id"] for _ in range(SLOTS)]
    wait_until(lambda: house.states_of(jobs) == {JobState.RUNNING}, 60, "the sleepers run")
    try:
        yield
    finally:
        client = Client(house.port, house.token)  # The portal closes a connection that was silent for long.
        for job in jobs:
            client.ask("POST", f"/api/v1/jobs/{job}/stop", None, 202)
        wait_until(lambda: house.states_of(jobs) <= set(ENDED_JOB_STATES), 60, "the sleepers have ended")


def cpu_seconds(house: House) -> dict[str, float]:
    """By service; PostgreSQL's is that of all its processes."""
    spent: dict[str, float] = {}
    for process in services_of(house):
        with suppress(psutil.NoSuchProcess):  # A job's beginning that has ended meanwhile.
            words = process.cmdline()
            name = "portal" if "gunicorn" in words else "scheduler" if "scheduler" in words else ""
            if name:
                spent[name] = spent.get(name, 0.0) + sum(process.cpu_times()[:2])
    if house.server:
        server = psutil.Process(house.server.process.pid)
        ended = server.cpu_times()
        living = [process.cpu_times() for process in (server, *server.children())]
        spent["PostgreSQL"] = sum(each.user + each.system for each in living)
        spent["PostgreSQL"] += ended.children_user + ended.children_system
    return spent


def submit_to_slurm(cluster: Slurm, count: int) -> float:
    """Eight `sbatch` at a time; their jobs stay queued. Per second."""
    begun = time.perf_counter()
    fill_slurm(cluster, count)
    return count / (time.perf_counter() - begun)


def enqueue(queue, count: int) -> float:  # type: ignore[no-untyped-def]
    """Into a queue that no worker looks at. Per second."""
    from rq import Queue

    aside = Queue("aside", connection=queue.connection)
    begun = time.perf_counter()
    for _ in range(count):
        aside.enqueue("tests.bench.baselines.rq_job.run", ["true"], "/dev/null", job_timeout=-1)
    rate = count / (time.perf_counter() - begun)
    aside.empty()
    return rate
