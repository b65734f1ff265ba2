"""Repair runs while the database is away. A file records each, and one console at a time works on it."""

import fcntl
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.domain.repairs.definition import check_inventory_host, check_reason
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.failpoints import external_call
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry
from cluster.services.repairs.offline_records import (
    list_offline_records,
    offline_record_file,
    write_offline_record,
)
from cluster.services.repairs.repair_targets import MASTER
from cluster.store.repairs import RepairRun

Data = Sequence[dict[str, Any]]


def new_offline_run(cluster: Cluster, entry: CatalogueEntry, host: str, reason: str, login: str) -> RepairRun:
    """A new run on the master, whose name is `host`. Raises Refused if reason or name is not acceptable."""
    return RepairRun(
        offline_record=str(uuid.uuid4().int % 10**15 + 10**15),
        name=entry.repair.name,
        target=MASTER,
        host=check_inventory_host(host),
        digest=entry.digest,
        reason=check_reason(reason),
        console_user=login,
        requested_at=cluster.clock(),
        is_forced=False,
        tasks=[{"name": task.en, "hosts": {}} for task in entry.repair.tasks],
        before=[],
        checks=[],
    )


@contextmanager
def hold_offline_run(cluster: Cluster, run: RepairRun) -> Iterator[bool]:
    """Locks the run and yields whether this process got the lock; the kernel frees it when the process ends."""
    path = offline_record_file(cluster, run).with_suffix(".lock")
    with external_call("repair_record.lock"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = path.open("a")
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
        with external_call("repair_record.unlock"):
            path.unlink(missing_ok=True)


def read_unfinished_run(cluster: Cluster, run: RepairRun) -> RepairRun | None:
    """The run as its file has it now. None if it has ended or was imported."""
    runs = (each for each in list_offline_records(cluster) if each.offline_record == run.offline_record)
    return next((each for each in runs if each.ended_at is None), None)


def request_offline_cancel(cluster: Cluster, run: RepairRun) -> None:
    """The first request asks the playbook to end, the second one kills it."""
    run.is_forced = run.cancel_requested_at is not None
    run.cancel_requested_at = run.cancel_requested_at or cluster.clock()


class FileRecorder:
    """Records the run in its file."""

    def __init__(self, cluster: Cluster, run: RepairRun) -> None:
        self.cluster, self.run = cluster, run

    def write(self) -> Path:
        return write_offline_record(self.cluster, self.run)

    def read_run(self) -> RepairRun:
        return self.run

    def record_step(self, step: str) -> None:
        """The file keeps no steps."""

    def record_start(self, before: Data) -> None:
        self.run.before, self.run.started_at = list(before), self.cluster.clock()
        self.write()

    def record_tasks(self, tasks: Data, share: float) -> None:
        """Keeps the tasks in memory; `record_end` writes them, and only this process reads them until then."""
        self.run.tasks = list(tasks)

    def record_checks(self, checks: Data) -> None:
        """Keeps the checks in memory until `record_end` writes them."""
        self.run.checks = list(checks)

    def record_end(self, verdict: RepairVerdict, rc: int | None, checks: Data, code: str = "") -> None:
        """The file keeps no `code`: the verdict says enough for the row that is made of it."""
        self.run.verdict, self.run.playbook_rc, self.run.checks = verdict, rc, list(checks)
        self.run.ended_at = self.cluster.clock()
        self.write()
