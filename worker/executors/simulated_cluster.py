"""The simulated cluster: its clock, its nodes and the faults that a test injects, kept in files.

Everything is a file below one folder, so that a scheduler that was killed finds it again, and a test in
another process can break it. Times are seconds; a world whose clock was never moved lives in real time.
"""

import fcntl
import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worker.executors.simulated_run import Behaviour, SimulatedRun, advance_run
from worker.inside.shim_files import write_json_atomically


@dataclass(frozen=True)
class SimulatedNode:
    name: str
    boot: str
    is_on: bool = True
    is_cut: bool = False
    """Its network is away: what runs there goes on, and nobody can ask it."""
    start_seconds: float = 0.0

    @property
    def is_reachable(self) -> bool:
        return self.is_on and not self.is_cut


class SimulatedCluster:
    """Time, nodes, programs, and what can happen to them; every method is safe to call from any process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "runs").mkdir(parents=True, exist_ok=True)

    def now(self) -> float:
        found = self._read("clock")
        return float(found["at"]) if found else time.time()

    def advance_clock(self, seconds: float) -> None:
        """From the first call on, time stands still in between."""
        with self.lock():
            write_json_atomically(str(self.folder / "clock.json"), {"at": self.now() + seconds})

    def nodes(self) -> dict[str, SimulatedNode]:
        return {name: SimulatedNode(**each) for name, each in (self._read("nodes") or {}).items()}

    def list_answering(self) -> list[SimulatedNode]:
        """Those whose agents would send a heartbeat now."""
        return [node for node in self.nodes().values() if node.is_reachable]

    def add_node(self, name: str) -> SimulatedNode:
        """On and reachable; safe to repeat."""
        with self.lock():
            return self.ensure_node(name)

    def power_off(self, name: str) -> None:
        """What runs there is gone at once, and nobody answers."""
        with self.lock():
            self._end_parts_on(name)
            self._change(name, is_on=False)

    def power_on(self, name: str) -> None:
        """Another boot."""
        with self.lock():
            self._change(name, is_on=True, boot=uuid.uuid4().hex)

    def reboot(self, name: str) -> None:
        self.power_off(name)
        self.power_on(name)

    def cut_network(self, name: str) -> None:
        """A partition."""
        with self.lock():
            self._change(name, is_cut=True)

    def restore_network(self, name: str) -> None:
        with self.lock():
            self._change(name, is_cut=False)

    def start_slowly(self, name: str, seconds: float) -> None:
        """From now on a start there takes so long, and the executor does not wait for it."""
        with self.lock():
            self._change(name, start_seconds=seconds)

    def set_behaviour(self, behaviour: Behaviour, job: int | None = None) -> None:
        """How later attempts of this job behave; without a number, those of every other job."""
        with self.lock():
            known = self._read("behaviours") or {}
            known[str(job or "default")] = asdict(behaviour)
            write_json_atomically(str(self.folder / "behaviours.json"), known)

    def behaviour_of(self, job: int) -> Behaviour:
        known = self._read("behaviours") or {}
        found = known.get(str(job)) or known.get("default")
        return Behaviour(**found) if found else Behaviour()

    def lose_shim(self, job: int, attempt: int) -> None:
        """It is killed and leaves no result; its program ends with it."""
        with self.lock():
            self.remove_run(f"{job}-{attempt}")

    @contextmanager
    def lock(self) -> Iterator[None]:
        with (self.folder / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def ensure_node(self, name: str) -> SimulatedNode:
        return self.nodes().get(name) or self._change(name)

    def runs(self) -> list[SimulatedRun]:
        """Those that are not over, as they are now. Under the lock."""
        keys = [path.stem for path in sorted((self.folder / "runs").glob("*-*.json"))]
        found = [self.read_run(key) for key in keys]
        return [run for run in found if run is not None]

    def read_run(self, key: str) -> SimulatedRun | None:
        """None: there is none, or it is over by now. Under the lock."""
        path = self.folder / "runs" / f"{key}.json"
        if not path.exists():
            return None
        found = json.loads(path.read_text())
        tuples = {name: tuple(found[name]) for name in ("nodes", "alive")}
        before = SimulatedRun(**found | tuples | {"behaviour": Behaviour(**found["behaviour"])})
        after = advance_run(before, self.now())
        if after != before:
            self.write_run(after) if after is not None else self.remove_run(key)
        return after

    def write_run(self, run: SimulatedRun) -> None:
        write_json_atomically(str(self.folder / "runs" / f"{run.key}.json"), asdict(run))

    def remove_run(self, key: str) -> None:
        (self.folder / "runs" / f"{key}.json").unlink(missing_ok=True)

    def end_parts(self, run: SimulatedRun, nodes: tuple[str, ...]) -> None:
        """What of it ran on these nodes is gone, without a word."""
        rest = tuple(name for name in run.alive if name not in nodes)
        if rest:
            self.write_run(replace(run, alive=rest))
        else:
            self.remove_run(run.key)

    def _end_parts_on(self, name: str) -> None:
        for run in self.runs():
            if name in run.alive:
                self.end_parts(run, (name,))

    def _change(self, name: str, **changes: Any) -> SimulatedNode:
        known = self.nodes()
        known[name] = replace(known.get(name) or SimulatedNode(name, uuid.uuid4().hex), **changes)
        everybody = {each: asdict(node) for each, node in known.items()}
        write_json_atomically(str(self.folder / "nodes.json"), everybody)
        return known[name]

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.folder / f"{name}.json"
        found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return found
