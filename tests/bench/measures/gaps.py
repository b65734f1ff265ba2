"""Measures how long a unit idles between the end of one program and the start of the next, while more jobs wait.

Jobs of 0.2 s on two units of one workspace; each program writes when it begins and when it ends.
"""

from collections.abc import Iterable
from pathlib import Path

from tests.bench.baselines.hyperqueue import HyperQueue
from tests.bench.baselines.plain_rq import RqAlone
from tests.bench.baselines.slurm import Slurm
from tests.bench.bench_installation import House, wait_until
from tests.bench.bench_run import DURABLE, SLOTS, SLURM_PLAIN, Ground
from tests.bench.bulk_rows import count_living, fill
from tests.bench.saturated_units import all_there, forget, take_turns
from tests.bench.timestamps import idle_gaps, read_naps

MEASURE = "P4"
TITLE = "Idle between two jobs"
CASE = f"jobs of 0.2 s on {SLOTS} units"

Gaps = list[float]


def run(ground: Ground) -> None:
    few = ground.few
    runs = all_there(
        ground,
        lambda house: gaps_of_ours(house, few(20, 100)),
        lambda cluster: gaps_of_slurm(cluster, few(8, 20)),
        lambda hq: gaps_of_hyperqueue(hq, few(20, 50)),
        lambda rq: gaps_of_rq(rq, few(20, 50)),
    )
    if plain := ground.slurm_plain:
        runs[SLURM_PLAIN] = lambda: gaps_of_slurm(plain, few(6, 8))
    take_turns(
        ground, runs, lambda name, gaps: ground.ledger.latencies(MEASURE, CASE, name, gaps, DURABLE[name])
    )


def gaps_of_ours(house: House, count: int) -> Gaps:
    fill(house.cluster, [house.training_id], count, units=1, command=["sh", "nap.sh"])
    house.cluster.events.publish("queue", 0)
    wait_until(lambda: count_living(house.cluster) == 0, 30 + 2 * count, "all naps are over", pause=0.2)
    files = house.storage.glob(f"workspaces/{house.workspace_id}/jobs/*/*/out/rank-0.stdout")
    naps = read_naps(files)
    assert len(naps) == count, f"{len(naps)} of {count} naps"
    forget(house)
    return idle_gaps(naps, SLOTS)


def gaps_of_slurm(cluster: Slurm, count: int) -> Gaps:
    cluster.submit(f"--array=1-{count}", "--output=nap-%a.txt", "nap.sh")
    wait_until(lambda: not cluster.is_at_work(), 30 + 4 * count, "all naps are over", pause=0.2)
    files = list((cluster.folder / "out").glob("nap-*.txt"))
    naps = read_naps(files)
    for file in files:
        file.unlink()
    return idle_gaps(naps, SLOTS)


def gaps_of_hyperqueue(hq: HyperQueue, count: int) -> Gaps:
    hq.run([str(hq.out / "nap.sh")], count, hq.out / "hq-%{TASK_ID}.txt")
    return gaps_in(hq.out.glob("hq-*.txt"))


def gaps_of_rq(rq: RqAlone, count: int) -> Gaps:
    for number in range(count):
        rq.enqueue([str(rq.folder / "nap.sh")], rq.folder / f"rq-{number}.txt")
    wait_until(rq.is_empty, 30 + count, "all naps are over")
    return gaps_in(rq.folder.glob("rq-*.txt"))


def gaps_in(files: Iterable[Path]) -> Gaps:
    found = list(files)
    naps = read_naps(found)
    for file in found:
        file.unlink()
    return idle_gaps(naps, SLOTS)
