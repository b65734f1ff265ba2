"""From the moment of asking until the job runs, on a free unit, while others wait in 200 other workspaces.

Three moments of each of ours: the answer to the submission, the wrapper's first byte (`control/started`), and the
first byte that the program itself wrote. Rivals are judged by their program's first byte too.
"""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from cluster.domain.states import ENDED_JOB_STATES
from cluster.services.storage import folders
from tests.bench.baselines.hyperqueue import HyperQueue
from tests.bench.baselines.plain_rq import RqAlone
from tests.bench.baselines.slurm import Slurm
from tests.bench.bench_installation import House, wait_until
from tests.bench.bench_run import DURABLE, HQ, RQ, SLURM, SLURM_PLAIN, Ground
from tests.bench.queue_depths import OF_SLURM, at_each_depth
from tests.bench.rest_clients import Client
from tests.bench.timestamps import parse_moment

MEASURE = "P3"
TITLE = "From submit to running"
PATIENCE = 30.0


def run(ground: Ground) -> None:
    at_each_depth(ground, turns_of)


def turns_of(ground: Ground, depth: int) -> dict[str, Callable[[], None]]:
    case = f"{depth:,} queued"
    turns: dict[str, Callable[[], None]] = {
        name: lambda name=name: start_ours(ground, name, case)  # type: ignore[misc]
        for name in ground.houses
    }
    few = ground.few(2, 6)

    def note(contender: str, start: Callable[[Path], float], count: int) -> None:
        files = [ground.folder / f"start-{number}" for number in range(count)]
        ground.ledger.latencies(MEASURE, case, contender, [start(file) for file in files], DURABLE[contender])
        for file in files:
            file.unlink(missing_ok=True)

    if (tuned := ground.slurm) and depth <= OF_SLURM:
        turns[SLURM] = lambda: note(SLURM, lambda file: batch(tuned, file), few)
        turns[f"{SLURM}, srun"] = lambda: ground.ledger.latencies(
            MEASURE,
            case,
            f"{SLURM}, srun",
            [interactive(tuned) for _ in range(few)],
            "srun date, no job script",
        )
    if (plain := ground.slurm_plain) and depth == 0:
        turns[SLURM_PLAIN] = lambda: note(SLURM_PLAIN, lambda file: batch(plain, file), ground.few(1, 3))
    if (hq := ground.hyperqueue) and depth == 0:
        turns[HQ] = lambda: note(HQ, lambda file: task(hq, file), few)
    if (rq := ground.rq) and depth == 0:
        turns[RQ] = lambda: note(RQ, lambda file: call(rq, file), few)
    return turns


def start_ours(ground: Ground, contender: str, case: str) -> None:
    house = ground.houses[contender]
    client = Client(house.port, house.token)
    chance = random.Random(case)
    answered, wrapped, ran = [], [], []
    for _ in range(ground.few(4, 25)):
        time.sleep(chance.uniform(0.0, 0.3))  # Not in step with the scheduler's own looks.
        moments = one_start(house, client)
        answered.append(moments[0])
        wrapped.append(moments[1])
        ran.append(moments[2])
    ground.ledger.latencies(MEASURE, case, contender, ran, DURABLE[contender])
    ground.ledger.latencies(f"{MEASURE}, the wrapper's first byte", case, contender, wrapped)
    ground.ledger.latencies(f"{MEASURE}, the answer", case, contender, answered)


def one_start(house: House, client: Client) -> tuple[float, float, float]:
    """Seconds from before the request until the answer, the wrapper's and the program's first byte."""
    body = {"training_id": house.training_id, "units": 1, "name": "stamp", "command": ["date", "+%s.%N"]}
    begun = time.time()
    job = client.ask("POST", "/api/v1/jobs", body, 201)["id"]
    answered = time.time()
    folder = folders.attempt_folder(house.cluster.settings, house.workspace_id, job, 1)
    ran = read_when_written(folder / "out" / "rank-0.stdout")
    started = json.loads((folder / "control" / "started").read_text())["at"]
    wait_until(lambda: house.states_of([job]) <= set(ENDED_JOB_STATES), PATIENCE, "the job has ended")
    return answered - begun, parse_moment(started) - begun, ran - begun


def read_when_written(path: Path) -> float:
    """The moment in a file that somebody is about to write; looking costs little, and nothing of the result."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if text := path.read_text().strip():
                return float(text)
        except FileNotFoundError:
            pass
        time.sleep(0.005)
    raise TimeoutError(f"{path} was not written")


def batch(cluster: Slurm, file: Path) -> float:
    begun = time.time()
    cluster.submit(f"--output={file}", "stamp.sh")
    seconds = read_when_written(file) - begun
    cluster.wait_until_no_job_runs()
    return seconds


def interactive(cluster: Slurm) -> float:
    begun = time.time()
    return float(cluster.run("srun", "--quiet", "date", "+%s.%N")) - begun


def task(hq: HyperQueue, file: Path) -> float:
    begun = time.time()
    hq.run(["date", "+%s.%N"], stdout=file, wait=False)
    return read_when_written(file) - begun


def call(rq: RqAlone, file: Path) -> float:
    begun = time.time()
    rq.enqueue(["date", "+%s.%N"], file)
    seconds = read_when_written(file) - begun
    wait_until(rq.is_empty, PATIENCE, "the worker is free again")
    return seconds
