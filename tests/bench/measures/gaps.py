"""How long a unit idles between the end of one program and the start of the next, while more jobs wait.

Jobs of 0.2 s on two units of one workspace; each program writes when it begins and when it ends.
"""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.bench.ground import DURABLE, HQ, RQ, SLOTS, SLURM, SLURM_PLAIN, Ground
from tests.bench.house import House, wait_until
from tests.bench.moments import idle_gaps, read_naps
from tests.bench.rivals.hyperqueue import HyperQueue
from tests.bench.rivals.rq_alone import RqAlone
from tests.bench.rivals.slurm import Slurm
from tests.bench.rows import clear, count_living, fill

MEASURE = "P4"
TITLE = "Idle between two jobs"
CASE = f"jobs of 0.2 s on {SLOTS} units"

Gaps = list[float]


def run(ground: Ground) -> None:
    turns: dict[str, Callable[[], None]] = {}

    def add(contender: str, gaps: Callable[[], Gaps]) -> None:
        turns[contender] = lambda: ground.ledger.latencies(
            MEASURE, CASE, contender, gaps(), DURABLE[contender]
        )

    for name, house in ground.houses.items():
        forget(house)
        add(name, lambda house=house: gaps_of_ours(house, ground.few(20, 100)))  # type: ignore[misc]
    if cluster := ground.slurm:
        add(SLURM, lambda: gaps_of_slurm(cluster, ground.few(8, 30)))
    if plain := ground.slurm_plain:
        add(SLURM_PLAIN, lambda: gaps_of_slurm(plain, ground.few(6, 12)))
    if hq := ground.hyperqueue:
        add(HQ, lambda: gaps_of_hyperqueue(hq, ground.few(20, 100)))
    if rq := ground.rq:
        add(RQ, lambda: gaps_of_rq(rq, ground.few(20, 100)))
    ground.alternate(turns)


def gaps_of_ours(house: House, count: int) -> Gaps:
    fill(house.cluster, [house.training_id], count, units=1, command=["sh", "nap.sh"])
    house.cluster.bell.ring("queue", 0)
    wait_until(lambda: count_living(house.cluster) == 0, 30 + 2 * count, "all naps are over", pause=0.2)
    files = house.storage.glob(f"workspaces/{house.workspace_id}/jobs/*/*/out/rank-0.stdout")
    naps = read_naps(files)
    assert len(naps) == count, f"{len(naps)} of {count} naps"
    forget(house)
    return idle_gaps(naps, SLOTS)


def forget(house: House) -> None:
    """Rows and files, so that the next repeat finds what this one found."""
    clear(house.cluster)
    shutil.rmtree(house.storage / "workspaces" / str(house.workspace_id) / "jobs", ignore_errors=True)


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
