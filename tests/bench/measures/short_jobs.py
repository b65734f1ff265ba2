"""`/bin/true` as often as it goes on two units, through every state of a job, with log files and exit record."""

import time
from collections.abc import Callable

from tests.bench.ground import DURABLE, HQ, RQ, SLOTS, SLURM, Ground
from tests.bench.house import House, wait_until
from tests.bench.measures.gaps import forget
from tests.bench.rivals.hyperqueue import HyperQueue
from tests.bench.rivals.rq_alone import RqAlone
from tests.bench.rivals.slurm import Slurm
from tests.bench.rows import count_living, fill

MEASURE = "P5"
TITLE = "Short jobs"
CASE = f"/bin/true on {SLOTS} units"


def run(ground: Ground) -> None:
    turns: dict[str, Callable[[], None]] = {}

    def add(contender: str, rate: Callable[[], float]) -> None:
        turns[contender] = lambda: ground.ledger.value(
            MEASURE, CASE, contender, "/s", rate(), DURABLE[contender]
        )

    for name, house in ground.houses.items():
        forget(house)
        add(name, lambda house=house: rate_of_ours(house, ground.few(20, 150)))  # type: ignore[misc]
    if cluster := ground.slurm:
        add(SLURM, lambda: rate_of_slurm(cluster, ground.few(6, 24)))
    if hq := ground.hyperqueue:
        add(HQ, lambda: rate_of_hyperqueue(hq, ground.few(200, 1000)))
    if rq := ground.rq:
        add(RQ, lambda: rate_of_rq(rq, ground.few(50, 300)))
    ground.alternate(turns)


def rate_of_ours(house: House, count: int) -> float:
    fill(house.cluster, [house.training_id], count, units=1, command=["/bin/true"])
    begun = time.perf_counter()
    house.cluster.bell.ring("queue", 0)
    wait_until(lambda: count_living(house.cluster) == 0, 30 + 2 * count, "all have ended")
    rate = count / (time.perf_counter() - begun)
    forget(house)
    return rate


def rate_of_slurm(cluster: Slurm, count: int) -> float:
    begun = time.perf_counter()
    cluster.submit(f"--array=1-{count}", "--output=/dev/null", "true.sh")
    wait_until(lambda: not cluster.is_at_work(), 30 + 4 * count, "all have ended")
    return count / (time.perf_counter() - begun)


def rate_of_hyperqueue(hq: HyperQueue, count: int) -> float:
    last = hq.out / "last.txt"
    begun = hq.run(["/bin/true"], count, last=last)["begun"]
    return count / (float(last.read_text()) - begun)


def rate_of_rq(rq: RqAlone, count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        rq.enqueue(["/bin/true"])
    wait_until(rq.is_empty, 30 + count, "all have ended", pause=0.01)
    return count / (time.perf_counter() - begun)
