"""RQ by itself: two fork workers on a Redis that syncs its file once a second, as RQ's users run it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as version_of
from pathlib import Path

from redis import Redis
from rq import Queue, Worker

from tests.bench.baselines.slurm import end

ROOT = Path(__file__).resolve().parents[3]
QUEUE = "bench"
JOB = "tests.bench.baselines.rq_job.run"
STARTS_WITHIN = 30


@dataclass
class RqAlone:
    queue: Queue
    folder: Path

    def enqueue(self, argv: list[str], stdout: Path | None = None) -> float:
        """When it was accepted: what Redis has, it may still forget (appendfsync everysec)."""
        self.queue.enqueue(JOB, argv, str(stdout) if stdout else os.devnull, result_ttl=0, job_timeout=-1)
        return time.time()

    def is_empty(self) -> bool:
        return len(self.queue) == 0 and self.queue.started_job_registry.count == 0


@contextmanager
def rq_alone(folder: Path, workers: int) -> Iterator[RqAlone]:
    socket = folder / "redis.sock"
    program = shutil.which("redis-server") or shutil.which("valkey-server") or "redis-server"
    switches = ["--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--save", ""]
    switches += ["--appendonly", "yes", "--appendfsync", "everysec"]
    log = (folder / "rq.log").open("ab")
    started = [subprocess.Popen([program, *switches], stdout=log, stderr=log)]
    try:
        wait_for(socket.exists)
        url = f"unix://{socket}"
        queue = Queue(QUEUE, connection=Redis.from_url(url))
        command = [sys.executable, "-m", "rq.cli", "worker", "--url", url, "--quiet", QUEUE]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        for _ in range(workers):
            started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log))
        wait_for(lambda: Worker.count(queue.connection) == workers)
        yield RqAlone(queue, folder)
    finally:
        for process in reversed(started):
            end(process)
        log.close()


def wait_for(is_so: object) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while not is_so():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise TimeoutError("RQ did not start")
        time.sleep(0.02)


def version() -> str:
    return f"RQ {version_of('rq')}"
