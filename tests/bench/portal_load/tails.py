"""Logs that many people follow: one job with 200 readers, then 50 jobs with 4 readers each, 50 lines/s per job.

The jobs are simulated: a process appends to their files lines that say when they were written. The readers, a process
of their own, do what the page of a job does. Every reader's bytes are compared with the file by hash. Then a thousand
streams in which nothing happens. `--tail-seconds` (TAIL_SECONDS=600) makes it long enough to see memory grow.
"""

import hashlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.domain.states import JobState
from cluster.services.storage.folders import attempt_folder
from cluster.store.jobs import Job
from cluster.store.users import User
from cluster.store.workspaces import WorkspaceMember
from tests.bench.bench_installation import wait_until
from tests.bench.full_size.sizes import FULL
from tests.bench.portal_load.full_installation import FullInstallation, full_installation
from tests.bench.portal_load.portal_bench import CONTENDERS, PortalBench, noted_cpu
from tests.bench.rest_clients import Client
from tests.installation import ROOT

MEASURE = "P8"
TITLE = "Logs that are followed"
LINES_PER_SECOND = 50
READERS_PER_PERSON = 11
"""One less than a person may have streams."""
IDLE_STREAMS = 1_000
FIRST_FURTHER_PERSON = 10_001
"""Behind all ids that the installation has given."""
MEMORY_PAUSE = 2.0


@dataclass(frozen=True)
class Tail:
    """`jobs` jobs with `readers` readers each."""

    jobs: int
    readers: int

    def __str__(self) -> str:
        return f"{self.jobs} × {LINES_PER_SECOND} lines/s, {self.readers} readers each"


TAILS = (Tail(1, 200), Tail(50, 4))


def run(bench: PortalBench) -> None:
    for kind in bench.databases:
        with full_installation(kind, FULL) as full:
            cookies = cookies_of_many(full, -(-IDLE_STREAMS // READERS_PER_PERSON))
            full.behave(seconds=1e6)
            for tail in TAILS:
                measure_tail(bench, CONTENDERS[kind], full, tail, cookies)
            measure_idle(bench, CONTENDERS[kind], full, cookies)


def cookies_of_many(full: FullInstallation, count: int) -> list[str]:
    """So many people in the workspace of the followed jobs, each signed in once."""
    place = full.size.workspaces
    present = range(1, full.size.people + 1)
    further = range(FIRST_FURTHER_PERSON, FIRST_FURTHER_PERSON + max(0, count - len(present)))
    now = full.cluster.clock()
    with full.cluster.store.write() as session:
        session.add_all(User(id=each, name=f"reader-{each}", created_at=now) for each in further)
        session.flush()
        members = {row[0] for row in session.query(WorkspaceMember.user_id).filter_by(workspace_id=place)}
        missing = set(present) | set(further)
        session.add_all(WorkspaceMember(workspace_id=place, user_id=each) for each in missing - members)
    return [full.sign_in(user_id, place).cookie for user_id in [*present, *further][:count]]


def measure_tail(
    bench: PortalBench, contender: str, full: FullInstallation, tail: Tail, cookies: Sequence[str]
) -> None:
    seconds = bench.tail_seconds
    files = start_jobs(full, tail.jobs)
    wanted = [job for job in files for _ in range(tail.readers)]
    readers = list(zip(dealt_out(cookies, len(wanted)), wanted, strict=True))
    plan = {"port": full.port, "readers": readers, "seconds": seconds + 2}
    with (
        noted_cpu(bench, MEASURE, str(tail), contender, full),
        noted_memory(bench, str(tail), contender, full),
        reader_process(plan) as process,
    ):
        command = [sys.executable, "-m", "tests.bench.portal_load.log_writers"]
        numbers = [str(LINES_PER_SECOND), str(seconds)]
        subprocess.run([*command, *numbers, *map(str, files.values())], cwd=ROOT, check=True)
        seen = read_seen(process)
    note_tail(bench, contender, tail, files, seen)


def dealt_out(cookies: Sequence[str], count: int) -> list[str]:
    return [cookies[number // READERS_PER_PERSON % len(cookies)] for number in range(count)]


def start_jobs(full: FullInstallation, count: int) -> dict[int, Path]:
    """Running jobs, with the file that each one's program writes to."""
    body = {"training_id": full.training_id, "units": 1, "launcher": "plain", "command": ["sh", "true.sh"]}
    token = full.sign_in(1, full.size.workspaces).token
    with closing(Client(full.port, token)) as client:
        jobs = [client.ask("POST", "/api/v1/jobs", body, 201)["id"] for _ in range(count)]
    wait_until(lambda: are_running(full, jobs), 60, f"{count} jobs run")
    folder = full.cluster.settings, full.size.workspaces
    return {job: attempt_folder(*folder, job, 1) / "out" / "rank-0.stdout" for job in jobs}


def are_running(full: FullInstallation, jobs: list[int]) -> bool:
    with full.cluster.store.read() as session:
        states = session.query(Job.state).filter(Job.id.in_(jobs)).distinct().all()
    return states == [(JobState.RUNNING,)]


@contextmanager
def reader_process(plan: dict[str, Any]) -> Iterator["subprocess.Popen[str]"]:
    """Begins once every stream is open or refused."""
    command = [sys.executable, "-m", "tests.bench.portal_load.log_readers"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin and process.stderr
        process.stdin.write(json.dumps(plan))
        process.stdin.close()
        line = process.stderr.readline()
        assert line == "ready\n", line + process.stderr.read()
        yield process


def read_seen(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    assert process.stdout
    found: list[dict[str, Any]] = json.load(process.stdout)
    return found


def note_tail(
    bench: PortalBench, contender: str, tail: Tail, files: dict[int, Path], seen: list[dict[str, Any]]
) -> None:
    contents = {job: file.read_bytes() for job, file in files.items()}
    told = [one for one in seen if not one["is_refused"]]
    delays = [delay for one in told for delay in one["delays"]]
    is_right = [
        hashlib.sha256(contents[one["job"]][: one["bytes"]]).hexdigest() == one["sha256"] for one in told
    ]
    is_whole = [one["bytes"] == len(contents[one["job"]]) for one in told]
    ledger = bench.ledger
    if delays:
        ledger.latencies(MEASURE, f"{tail}: line written → received", contender, sample(delays))
    for case, count in (
        ("readers that were refused", len(seen) - len(told)),
        ("readers with other bytes than the file", is_right.count(False)),
        ("readers that did not reach the end", is_whole.count(False)),
        ("streams that broke", sum(one["reconnects"] for one in told)),
    ):
        ledger.value(MEASURE, f"{tail}: {case}", contender, "readers", count)
    ledger.value(MEASURE, f"{tail}: lines received", contender, "/s", len(delays) / bench.tail_seconds)


def sample(delays: list[float], most: int = 2_000) -> list[float]:
    """Evenly out of the ordered ones, so that percentiles stay what they are and the file small."""
    ordered = sorted(delays)
    step = max(1, len(ordered) // most)
    return [*ordered[::step], ordered[-1]]


@contextmanager
def noted_memory(bench: PortalBench, case: str, contender: str, full: FullInstallation) -> Iterator[None]:
    """The memory (PSS) of the service of streams at the beginning, and how much larger it is at the end and at most."""
    is_over, found = threading.Event(), [full.memory("stream")]

    def look() -> None:
        while not is_over.wait(MEMORY_PAUSE):
            found.append(full.memory("stream"))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        found.append(full.memory("stream"))
    for name, value in (
        ("the stream's memory (PSS) before", found[0]),
        ("the stream's memory (PSS) after", found[-1]),
        ("the stream's memory (PSS) at most", max(found)),
    ):
        bench.ledger.value(MEASURE, f"{case}: {name}", contender, "MiB", value / 2**20)


def measure_idle(bench: PortalBench, contender: str, full: FullInstallation, cookies: Sequence[str]) -> None:
    case = f"{IDLE_STREAMS} idle streams"
    seconds = bench.few(10, 30)
    plan = {
        "port": full.port,
        "readers": [[cookie, None] for cookie in dealt_out(cookies, IDLE_STREAMS)],
        "seconds": seconds + 3,
    }
    with reader_process(plan) as process:
        with noted_cpu(bench, MEASURE, case, contender, full):
            time.sleep(seconds)
        seen = read_seen(process)
    refused = sum(one["is_refused"] for one in seen)
    bench.ledger.value(MEASURE, f"{case}: refused", contender, "streams", refused)
