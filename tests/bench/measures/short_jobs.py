"""`/bin/true` as often as it goes on two units, through every state of a job, with log files and exit record."""

import time

from tests.bench.baselines.hyperqueue import HyperQueue
from tests.bench.baselines.plain_rq import RqAlone
from tests.bench.baselines.slurm import Slurm
from tests.bench.bench_installation import House, wait_until
from tests.bench.bench_run import DURABLE, SLOTS, Ground
from tests.bench.bulk_rows import count_living, fill
from tests.bench.floors import shims
from tests.bench.saturated_units import all_there, forget, take_turns

MEASURE = "P5"
TITLE = "Short jobs"
CASE = f"/bin/true on {SLOTS} units"


def run(ground: Ground) -> None:
    few = ground.few
    runs = all_there(
        ground,
        lambda house: rate_of_ours(house, few(20, 150)),
        lambda cluster: rate_of_slurm(cluster, few(6, 24)),
        lambda hq: rate_of_hyperqueue(hq, few(200, 1000)),
        lambda rq: rate_of_rq(rq, few(50, 300)),
    )
    take_turns(
        ground, runs, lambda name, rate: ground.ledger.value(MEASURE, CASE, name, "/s", rate, DURABLE[name])
    )
    name, house = next(iter(ground.houses.items()))
    ground.alternate({name: lambda: run_one(house)}, repeats=1)
    shims.run(ground, MEASURE)
    forget(house)


def run_one(house: House) -> None:
    """A job whose plan stays."""
    fill(house.cluster, [house.training_id], 1, units=1, command=["/bin/true"])
    house.cluster.events.publish("queue", 0)
    wait_until(lambda: count_living(house.cluster) == 0, 30, "it has ended")


def rate_of_ours(house: House, count: int) -> float:
    fill(house.cluster, [house.training_id], count, units=1, command=["/bin/true"])
    begun = time.perf_counter()
    house.cluster.events.publish("queue", 0)
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
