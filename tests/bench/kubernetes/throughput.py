"""Many jobs on simulated nodes through our scheduler and executor: starts/s, memory, requests, and what readers feel.

python -m tests.bench.kubernetes.throughput [--jobs 5000] [--nodes 50] [--seconds 10]

Prints a line for docs/measurements/kubernetes.md. What is real and what is simulated:
tests/bench/kubernetes/simulated_cluster.py.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil
from sqlalchemy import func, select

from cluster.domain.states import JobState
from cluster.store.jobs import Attempt
from tests.bench.bench_installation import wait_until
from tests.bench.bulk_rows import count_in, fill
from tests.bench.kubernetes.simulated_cluster import City, a_city
from tests.bench.machine import busy_share
from tests.bench.rest_clients import Client
from tests.kwok.program import compile_kwok

ROOT = Path(__file__).resolve().parents[3]
GPUS = 8
PLACES = 10
LOOK_SECONDS = 1.0
READ_SECONDS = 0.2
PATHS = ("/api/v1/queue", "/api/v1/jobs", "/api/v1/nodes")
WATCHED = ("scheduler", "portal", "kube-apiserver")


@dataclass
class Watched:
    """While the jobs ran: the most bytes and all CPU seconds of each process, how many ran, and readers' seconds."""

    memory: dict[str, int] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    running: list[int] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Played:
    """`asked`: requests of our scheduler, `attempts`: of all jobs together."""

    jobs: int
    nodes: int
    took: float
    seen: Watched
    asked: Counter[str]
    attempts: int
    busy: float
    load: float

    @property
    def rate(self) -> float:
        return self.jobs / self.took

    @property
    def requests(self) -> float:
        return sum(self.asked.values()) / self.jobs

    def line(self) -> str:
        """A row of the table."""
        mib = {name: f"{size / 2**20:.0f}" for name, size in self.seen.memory.items()}
        cpu = {name: f"{used / self.jobs * 1000:.0f}" for name, used in self.seen.cpu.items()}
        reads = sorted(self.seen.reads)
        cells = [
            commit(),
            f"{datetime.now(UTC):%Y-%m-%d}",
            f"{self.jobs:,} on {self.nodes} × {GPUS}",
            f"{self.rate:.1f}",
            str(max(self.seen.running)),
            f"{self.requests:.1f}",
            " / ".join(mib[name] for name in WATCHED),
            " / ".join(cpu[name] for name in WATCHED),
            f"{statistics.median(reads) * 1000:.0f} / {reads[int(0.99 * len(reads))] * 1000:.0f}",
            f"{self.busy:.0%} busy before, load {self.load:.0f} at the end",
        ]
        return "| " + " | ".join(cells) + " |"


def commit() -> str:
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def family(process: psutil.Process) -> list[psutil.Process]:
    """gunicorn's work is done by its children."""
    return [process, *process.children(recursive=True)]


def memory_of(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        return sum(each.memory_info().rss for each in family(process))
    return 0


def cpu_of(process: psutil.Process) -> float:
    return sum(sum(each.cpu_times()[:2]) for each in family(process))


@contextmanager
def watching(city: City) -> Iterator[Watched]:
    seen, is_over = Watched(), threading.Event()
    processes = {name: city.process(name) for name in WATCHED}
    before = {name: cpu_of(process) for name, process in processes.items()}

    def look() -> None:
        while not is_over.wait(LOOK_SECONDS):
            for name, process in processes.items():
                seen.memory[name] = max(seen.memory.get(name, 0), memory_of(process))
            seen.running.append(count_in(city.cluster, JobState.RUNNING))

    def read() -> None:
        with closing(Client(city.installation.port, city.token)) as client:
            while not is_over.wait(READ_SECONDS):
                for path in PATHS:
                    begun = time.perf_counter()
                    client.ask("GET", path)
                    seen.reads.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=each) for each in (look, read)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    seen.cpu = {name: cpu_of(process) - before[name] for name, process in processes.items()}


def play(city: City, jobs: int, nodes: int, busy: float) -> Played:
    """All jobs submitted at once, until the last one has ended. Raises TooSlow."""
    city.asked()
    fill(city.cluster, city.trainings, jobs, units=1, command=["sh", "stamp.sh"])
    with watching(city) as seen:
        begun = time.monotonic()
        city.cluster.events.publish("queue", 0)
        wait_until(lambda: count_in(city.cluster, JobState.FINISHED) >= jobs, 300 + jobs, "all ended", 0.5)
        took = time.monotonic() - begun
    return Played(jobs, nodes, took, seen, city.asked(), count_attempts(city), busy, os.getloadavg()[0])


def count_attempts(city: City) -> int:
    with city.cluster.store.read() as session:
        return session.scalar(select(func.count(Attempt.id))) or 0


def measure(jobs: int, nodes: int, seconds: float) -> Played:
    """Also that no job was lost and none ran twice. Raises NotCompiled."""
    busy = busy_share(1.0)
    with a_city(nodes, GPUS, seconds, PLACES) as city:
        played = play(city, jobs, nodes, busy)
        began, refused = len(city.player.began), city.player.refused
    assert (played.attempts, began, refused) == (jobs, jobs, []), "each job ran once"
    return played


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0, help="that each run lasts")
    asked = parser.parse_args()
    compile_kwok()
    played = measure(asked.jobs, asked.nodes, asked.seconds)
    print({what: round(number / asked.jobs, 2) for what, number in played.asked.most_common(12)})
    print(played.line())
    return 0


if __name__ == "__main__":
    sys.exit(main())
