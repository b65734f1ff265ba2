"""A backup under load on both databases: how long somebody who writes is kept waiting, and how long the proof takes.

python -m tests.bench.backups [--jobs 100000] [--entries 1000000] [--database sqlite] [--out FILE]

Writes a line per database into docs/measurements/backups.md. Goals: nobody who writes waits for more than 150 ms
because of it, and the verified restore takes at most 30 s.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from cluster.domain.states import TrainingKind
from cluster.services.audit.seals import read_newest_seal, seal_entries
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, add_audit_entry, audit_entry_columns
from cluster.store.engine import Store
from cluster.store.migrate import upgrade_database
from tests.bench.bulk_rows import fill
from tests.bench.machine import busy_share, fsync_seconds
from tests.builders import a_training, a_workspace, actor_of, an_administrator
from tests.conftest import Clock, RecordingBell, settings_for
from tests.crash.sweep import start_child
from tests.databases import DURABLE, postgresql_server
from worker.backups.drill import drill_newest_backup
from worker.backups.dump import make_backup
from worker.backups.smoke_test import run_smoke_test

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "measurements" / "backups.md"
GOAL_STALL, GOAL_PROOF = 0.150, 30.0
CALM_SECONDS = 10.0
BETWEEN_WRITES = 0.005
CHUNK = 20_000


@dataclass(frozen=True)
class Measured:
    """Seconds; `calm` and `during` are the writes without a backup and while one was made and proved."""

    made: float
    proved: float
    cpu: float
    """What the proof used of the cores, the database's server aside: it tells more than the clock of a busy machine."""
    size: int
    calm: list["Write"]
    during: list["Write"]

    @property
    def usual(self) -> float:
        return statistics.median(each.took for each in self.calm)

    @property
    def stall(self) -> float:
        return max(each.took for each in self.during) - self.usual

    @property
    def stall_by_itself(self) -> float:
        """Without the waiting for a processor, which on a busy machine is that of all others too."""
        return max(each.took - each.queued for each in self.during) - self.usual


@dataclass(frozen=True)
class Write:
    """Seconds that a small commit took, and those of them in which it was ready to run and no processor was free."""

    took: float
    queued: float


@contextmanager
def a_cluster(kind: str, folder: Path) -> Iterator[Cluster]:
    """Durable as an installation is."""
    folder.chmod(0o755)
    (folder / "database").mkdir()
    if kind == "sqlite":
        url = f"sqlite:///{folder}/database/groundcrew.db"
        upgrade_database(url)
        with closing(Store(url)) as store:
            yield Cluster(store, RecordingBell(), settings_for(url, folder), Clock(datetime.now(UTC)))
        return
    with postgresql_server(DURABLE) as server, server.migrated() as url, closing(Store(url)) as store:
        yield Cluster(store, RecordingBell(), settings_for(url, folder), Clock(datetime.now(UTC)))


def make_load(cluster: Cluster, jobs: int, entries: int) -> None:
    person = an_administrator(cluster, "hjkim")
    training = a_training(cluster, a_workspace(cluster, person, units=1), kind=TrainingKind.ADVANCED)
    fill(cluster, [training.id], jobs)
    actor, now = actor_of(person), cluster.clock()
    for first in range(0, entries, CHUNK):
        rows = [
            audit_entry_columns(now, actor, "job.submitted", number, {"name": f"bench-{number}", "units": 2})
            for number in range(first, min(first + CHUNK, entries))
        ]
        with cluster.store.write() as session:
            session.execute(insert(AuditEntry), rows)
    seal_entries(cluster, settled_after=timedelta(microseconds=-1))


def write_until(cluster: Cluster, is_over: Any) -> list[Write]:
    """Small commits, one after another with a breath between."""
    person = actor_of(an_administrator(cluster))
    took = []
    while not is_over():
        begun, queued = time.perf_counter(), queued_seconds()
        with cluster.store.write() as session:
            add_audit_entry(session, cluster.clock(), person, "job.stopped", 1)
        took.append(Write(time.perf_counter() - begun, queued_seconds() - queued))
        time.sleep(BETWEEN_WRITES)
    return took


def queued_seconds() -> float:
    """Since this process began."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def measure(cluster: Cluster, told: Path) -> Measured:
    deadline = time.monotonic() + CALM_SECONDS
    calm = write_until(cluster, lambda: time.monotonic() > deadline)
    anchor = read_newest_seal(cluster)

    def child() -> None:
        signal.alarm(0)  # Set for tests, which are over sooner.
        os.nice(10)  # As their task worker is.
        begun = time.monotonic()
        made = make_backup(cluster.settings, cluster.clock(), anchor)
        between, used = time.monotonic(), cpu_seconds()
        proof = drill_newest_backup(cluster.settings, cluster.clock(), run_smoke_test)
        assert (proof["problem"], proof["audit"]) == ("", None), proof
        seconds = {"made": between - begun, "proved": time.monotonic() - between, "cpu": cpu_seconds() - used}
        told.write_text(json.dumps(seconds | {"size": made["size"]}))

    cluster.store.close()  # No connection crosses the fork.
    pid = start_child(child, told.with_suffix(".log"))
    status: list[int] = []

    def is_over() -> bool:
        found, code = os.waitpid(pid, os.WNOHANG)
        status.extend([code] if found else [])
        return bool(found)

    during = write_until(cluster, is_over)
    assert status == [0], told.with_suffix(".log").read_text()
    return Measured(**json.loads(told.read_text()), calm=calm, during=during)


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def line_of(kind: str, asked: argparse.Namespace, seen: Measured, load: str) -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout.strip()
    kept = "kept" if seen.stall <= GOAL_STALL and seen.proved <= GOAL_PROOF else "missed"
    cells = [
        commit, f"{datetime.now(UTC):%Y-%m-%d}", kind, f"{asked.jobs:,} + {asked.entries:,}",
        f"{seen.size / 1e6:.1f}", f"{seen.made:.1f}", f"{seen.proved:.1f}", f"{seen.cpu:.1f}",
        *(f"{statistics.median(took) * 1000:.1f} / {max(took) * 1000:.0f}"
          for took in ([each.took for each in writes] for writes in (seen.calm, seen.during))),
        f"{seen.stall * 1000:.0f}", f"{seen.stall_by_itself * 1000:.0f}", kept, load,
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--database", choices=["sqlite", "postgresql"])
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    for kind in [asked.database] if asked.database else ["sqlite", "postgresql"]:
        load = f"{busy_share():.0%} busy before, fsync {fsync_seconds() * 1000:.1f} ms"
        with (
            tempfile.TemporaryDirectory(prefix="gc-backups-") as name,
            a_cluster(kind, Path(name)) as cluster,
        ):
            begun = time.monotonic()
            make_load(cluster, asked.jobs, asked.entries)
            print(f"{kind}: rows made in {time.monotonic() - begun:.0f} s", flush=True)
            line = line_of(kind, asked, measure(cluster, Path(name) / "told"), load)
        print(line, flush=True)
        with asked.out.open("a") as table:
            table.write(line + "\n")


if __name__ == "__main__":
    main()
