"""The simulated cluster: its clock, its nodes and the faults that a test injects, kept in files.

All of it is in files below one folder, so that a new scheduler finds it after a crash and a test in another process
can change it. Times are seconds. Until a test moves the clock, it shows real time.
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
    """The node's network is cut. Programs there go on, and nobody can ask for their state."""
    start_seconds: float = 0.0

    @property
    def is_reachable(self) -> bool:
        return self.is_on and not self.is_cut


class SimulatedCluster:
    """The clock, nodes, programs and faults. Every method may be called from any process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "runs").mkdir(parents=True, exist_ok=True)

    def now(self) -> float:
        found = self._read("clock")
        return float(found["at"]) if found else time.time()

    def advance_clock(self, seconds: float) -> None:
        """Moves the clock. From the first call on, it changes only by this method."""
        with self.lock():
            write_json_atomically(str(self.folder / "clock.json"), {"at": self.now() + seconds})

    def nodes(self) -> dict[str, SimulatedNode]:
        return {name: SimulatedNode(**each) for name, each in (self._read("nodes") or {}).items()}

    def list_answering(self) -> list[SimulatedNode]:
        """The nodes whose agents would send a heartbeat now."""
        return [node for node in self.nodes().values() if node.is_reachable]

    def add_node(self, name: str) -> SimulatedNode:
        """Adds a node that is on and reachable; can be repeated."""
        with self.lock():
            return self.ensure_node(name)

    def power_off(self, name: str) -> None:
        """Turns the node off. All runs on it end at once, and it does not answer."""
        with self.lock():
            self._end_parts_on(name)
            self._change(name, is_on=False)

    def power_on(self, name: str) -> None:
        """Turns the node on with a new boot id."""
        with self.lock():
            self._change(name, is_on=True, boot=uuid.uuid4().hex)

    def reboot(self, name: str) -> None:
        self.power_off(name)
        self.power_on(name)

    def cut_network(self, name: str) -> None:
        """Partitions the node from the scheduler."""
        with self.lock():
            self._change(name, is_cut=True)

    def restore_network(self, name: str) -> None:
        with self.lock():
            self._change(name, is_cut=False)

    def start_slowly(self, name: str, seconds: float) -> None:
        """From now on a start on this node takes `seconds`, and the executor does not wait for it."""
        with self.lock():
            self._change(name, start_seconds=seconds)

    def set_behaviour(self, behaviour: Behaviour, job: int | None = None) -> None:
        """Sets how later attempts of this job behave. Without a number it is the behaviour of every job without one of
        its own.
        """
        with self.lock():
            known = self._read("behaviours") or {}
            known[str(job or "default")] = asdict(behaviour)
            write_json_atomically(str(self.folder / "behaviours.json"), known)

    def behaviour_of(self, job: int) -> Behaviour:
        known = self._read("behaviours") or {}
        found = known.get(str(job)) or known.get("default")
        return Behaviour(**found) if found else Behaviour()

    def lose_shim(self, job: int, attempt: int) -> None:
        """Kills the attempt's shim, with its program, before it can write an exit record."""
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
        """The runs that are not over, advanced to now. The caller holds the lock."""
        keys = [path.stem for path in sorted((self.folder / "runs").glob("*-*.json"))]
        found = [self.read_run(key) for key in keys]
        return [run for run in found if run is not None]

    def read_run(self, key: str) -> SimulatedRun | None:
        """The run, advanced to now. None if there is none or it is over. The caller holds the lock."""
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
        """Ends what runs on these nodes, without an exit record."""
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
