"""The execution log records each event in order, one line per event; neither services nor rows write it."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.crash.scenario.job_names import CAST
from worker.executors.simulated_cluster import SimulatedCluster
from worker.executors.simulated_run import Behaviour, SimulatedRun


class Journal:
    """Lines appended whole, so that a process killed between two leaves no half line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def tell(self, event: str, **data: Any) -> None:
        line = json.dumps({"event": event, "pid": os.getpid(), **data}) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        """A line that is just being written is read the next time."""
        whole = self.path.read_text().rpartition("\n")[0] if self.path.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)


class WatchedWorld(SimulatedCluster):
    """The simulated world, with a witness who sees each program begin and end."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        super().__init__(folder)
        self.journal = journal
        self.name_of: Callable[[int], str] = str

    def behaviour_of(self, job: int) -> Behaviour:
        """By the job's name: who it is has to be known before anybody could tell its number."""
        name = self.name_of(job)
        return replace(
            CAST.get(name) or CAST.get(name.partition("-")[0]) or super().behaviour_of(job),
            stdout=f"{name} says\n",
        )

    def write_run(self, run: SimulatedRun) -> None:
        begins = run.began_at is not None and not self.has_begun(run.key)
        super().write_run(run)
        if begins:
            self.journal.tell("begins", job=run.job, attempt=run.attempt, nodes=run.nodes, at=run.began_at)

    def remove_run(self, key: str) -> None:
        began = self.has_begun(key)
        super().remove_run(key)
        if began:
            job, attempt = key.split("-")
            self.journal.tell("ends", job=int(job), attempt=int(attempt), at=self.now())

    def has_begun(self, key: str) -> bool:
        path = self.folder / "runs" / f"{key}.json"
        return path.exists() and json.loads(path.read_text())["began_at"] is not None
