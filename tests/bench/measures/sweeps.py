"""A sweep of many parameter sets in one request, until all rows are there, and what other readers feel meanwhile."""

import threading
import time

from sqlalchemy import func, select

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.bench.bench_installation import House, wait_until
from tests.bench.bench_run import DURABLE, HQ, RQ, SLURM, Ground, at_rest
from tests.bench.bulk_rows import clear, count_in, count_living, forget_waiting
from tests.bench.measures.submissions import enqueue
from tests.bench.rest_clients import Client, Unexpected
from tests.bench.results import missing

MEASURE = "P6"
TITLE = "A sweep"


def run(ground: Ground) -> None:
    jobs = ground.few(500, 10_000)
    for name, house in ground.houses.items():
        with missing(ground.ledger, f"a sweep on {name}", Unexpected):
            ground.alternate({name: lambda: sweep_ours(ground, name, house, jobs)})  # noqa: B023
        clear(house.cluster)
    case = f"{jobs:,} jobs accepted"
    if cluster := ground.slurm:
        for _ in range(ground.repeats):
            begun = time.perf_counter()
            number = cluster.submit(f"--array=1-{jobs}", "--nice=1000", "--licenses=blocked:1",
                                    "--output=/dev/null", "true.sh")  # fmt: skip
            ground.ledger.value(MEASURE, case, SLURM, "s", time.perf_counter() - begun, DURABLE[SLURM])
            cluster.run("scancel", str(number))
    if hq := ground.hyperqueue:
        for _ in range(ground.repeats):
            told = hq.run(["/bin/true"], ground.few(200, 1_000))
            per_task = (told["accepted"] - told["begun"]) / ground.few(200, 1_000)
            ground.ledger.value(MEASURE, case, HQ, "s", per_task * jobs, "scaled up from fewer tasks")
    if rq := ground.rq:
        for _ in range(ground.repeats):
            count = ground.few(200, 2_000)
            ground.ledger.value(
                MEASURE, case, RQ, "s", jobs / enqueue(rq.queue, count), "scaled up from fewer calls"
            )


def sweep_ours(ground: Ground, contender: str, house: House, jobs: int) -> None:
    with at_rest(house):
        clear(house.cluster)
    client = Client(house.port, house.token)
    with Reader(house) as before:
        time.sleep(ground.few(1, 2))
    with Reader(house) as meanwhile:
        begun, moment = time.perf_counter(), time.time()
        client.ask("POST", "/api/v1/sweeps", body_of(house, jobs), 201)
        accepted = time.perf_counter() - begun
        rows = count_living(house.cluster) + count_in(house.cluster, JobState.FINISHED)
        wait_until(lambda: first_start(house) is not None, 30, "the first job runs", pause=0.005)
        time.sleep(1.0)
    assert rows == jobs, f"{rows} rows of {jobs} when the answer came"
    note = DURABLE[contender]
    ground.ledger.value(MEASURE, f"{jobs:,} jobs accepted", contender, "s", accepted, note)
    first = (first_start(house) or 0.0) - moment - accepted
    ground.ledger.value(MEASURE, "first start after the answer", contender, "s", max(first, 0.0), note)
    ground.ledger.latencies(MEASURE, "another reader before", contender, before.took)
    ground.ledger.latencies(MEASURE, "another reader meanwhile", contender, meanwhile.took)
    forget_all(house)


def body_of(house: House, jobs: int) -> dict[str, object]:
    """A grid of two arguments."""
    rows = jobs // 100
    return {
        "training_id": house.training_id,
        "name": "grid",
        "units": 1,
        "kind": "grid",
        "command": ["/bin/true", "{lr}", "{seed}"],
        "values": {"lr": [str(n) for n in range(100)], "seed": [str(n) for n in range(rows)]},
    }


def first_start(house: House) -> float | None:
    with house.cluster.store.read() as session:
        moment = session.scalar(select(func.min(Job.started_at)))
    return moment.timestamp() if moment else None


def forget_all(house: House) -> None:
    """What waits is deleted while nobody looks; what runs ends by itself."""
    with at_rest(house):
        forget_waiting(house.cluster, house.training_id)
    wait_until(lambda: count_living(house.cluster) == 0, 120, "what runs has ended", pause=0.1)
    with at_rest(house):
        clear(house.cluster)


class Reader:
    """Somebody who lists jobs again and again, as fast as the answers come."""

    def __init__(self, house: House) -> None:
        self.client = Client(house.port, house.token)
        self.took: list[float] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        while not self.over.is_set():
            begun = time.perf_counter()
            self.client.ask("GET", "/api/v1/jobs?limit=20")
            self.took.append(time.perf_counter() - begun)
            self.over.wait(0.02)

    def __enter__(self) -> "Reader":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
