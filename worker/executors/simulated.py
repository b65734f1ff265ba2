"""The simulated executor runs no program: tests move its clock, choose how programs behave, and inject faults.

    world = World(folder)                       # files; any process may open the same folder
    executor = SimulatedExecutor(world)         # what the scheduler gets (GROUNDCREW_EXECUTOR=simulated:
                                                # the folder is <state>/simulated)
    world.behave(Behaviour(seconds=30, exit_code=1), job=7)   # without job: all others
    world.move(seconds=30)                      # from the first move on time stands still in between;
                                                # never moved: real time
    world.power_off(node)  power_on  reboot     # what ran there is gone; another boot
    world.cut(node)        heal                 # partition: it goes on unseen, `read_status` says UNKNOWN
    world.start_slowly(node, seconds)           # start raises NotStarted, the shim shows up later
    world.lose_shim(job, attempt)               # gone without exit.json
    world.list_answering()                      # name and boot of each node whose agent would report now
    Behaviour(executor_exit_code=137)           # the executor contradicts exit.json
    Behaviour(log_bytes_per_second=10**6)       # log flood, cut at 4 MiB with a mark

Nodes are made as plans name them (`StartPlan.nodes`; the first has the launcher). A gang that has lost a
node hangs until it is stopped. The attempt's folder gets the files that a real shim writes; `started`,
`exit.json` and every handle say "simulated".
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord, parse_exit_record
from worker.executors.contract import Handle, NotStarted, RunningAttempt, RunStatus, StartPlan
from worker.executors.simulated_cluster import SimulatedCluster
from worker.executors.simulated_run import (
    Behaviour,
    SimulatedRun,
    begin_simulated_run,
    start_marker,
    write_end,
)
from worker.inside import shim_files

__all__ = ["Behaviour", "SimulatedExecutor", "SimulatedCluster"]
OWN_NODE = "simulated"
"""The node on which a plan without nodes runs."""


class SimulatedExecutor:
    capabilities = ExecutorKind.SIMULATED.capabilities

    def __init__(self, world: SimulatedCluster) -> None:
        self.world = world

    def start(self, plan: StartPlan) -> Handle:
        with self.world.lock():
            run = self.world.read_run(f"{plan.job}-{plan.attempt}")
            if run is None and read_start_marker_file(plan.folder) is None:
                run = self._accept(plan)
            if run is not None and run.began_at is None:
                raise NotStarted("start.too_slow", seconds=0)
        handle = read_simulated_handle(plan.folder)
        if handle is None:
            raise NotStarted("start.forestalled")
        return handle

    def _accept(self, plan: StartPlan) -> SimulatedRun | None:
        """Accepts the run. Returns None if its start was prevented just before."""
        nodes = [self.world.ensure_node(name) for name in plan.placement.nodes or (OWN_NODE,)]
        for node in nodes:
            if not node.is_reachable:
                raise NotStarted("start.failed", reason=f"{node.name} does not answer")
        control = plan.folder / "control"
        control.mkdir(parents=True, exist_ok=True)
        shim_files.write_json_atomically(str(control / "plan.json"), plan.to_json() | {"simulated": True})
        names = tuple(node.name for node in nodes)
        now, slowest = self.world.now(), max(node.start_seconds for node in nodes)
        run: SimulatedRun | None = SimulatedRun(
            job=plan.job,
            attempt=plan.attempt,
            folder=str(plan.folder),
            nodes=names,
            boots={node.name: node.boot for node in nodes},
            ranks=plan.program.ranks,
            behaviour=self.world.behaviour_of(plan.job),
            ready_at=now + slowest,
            time_limit=plan.program.time_limit_seconds,
            alive=names,
        )
        if run is not None and slowest <= 0:
            run = begin_simulated_run(run)
        if run is not None:
            self.world.write_run(run)
        return run

    def prevent_start(self, folder: Path) -> bool:
        with self.world.lock():
            control = folder / "control"
            control.mkdir(parents=True, exist_ok=True)
            return shim_files.create_json_once(str(control / "started"), {"forestalled": True}) or (
                read_simulated_handle(folder) is None
            )

    def read_status(self, folder: Path) -> RunStatus:
        with self.world.lock():
            nodes = self.world.nodes()
            run = self.world.read_run(run_key(folder))
            handle = read_simulated_handle(folder)
            if handle is None:
                return RunStatus(ObservedState.ABSENT)
            of_this_boot = all(
                name in nodes and nodes[name].boot == boot for name, boot in handle["boots"].items()
            )
            if run is None and (folder / "control" / "exit.json").exists():
                return RunStatus(ObservedState.ENDED, handle, of_this_boot)
            if not all(name in nodes and nodes[name].is_reachable for name in handle["boots"]):
                return RunStatus(ObservedState.UNKNOWN, handle)
            seen = ObservedState.ALIVE if run is not None and of_this_boot else ObservedState.ENDED
            return RunStatus(seen, handle, of_this_boot)

    def find_notebook(self, folder: Path) -> str:
        return ""

    def list_running(self) -> list[RunningAttempt]:
        """Includes runs of which only a part is alive, on a node that answers."""
        with self.world.lock():
            return [
                RunningAttempt(run.job, run.attempt, Path(run.folder), start_marker(run))
                for run in self.world.runs()
                if run.began_at is not None and self._reachable_parts(run)
            ]

    def _reachable_parts(self, run: SimulatedRun) -> tuple[str, ...]:
        nodes = self.world.nodes()
        return tuple(name for name in run.alive if nodes[name].is_reachable)

    def read_exit_record(self, folder: Path) -> ExitRecord | None:
        control = str(folder / "control")
        content = shim_files.read_untrusted_file(control, "exit.json")
        if content is None:
            return None
        own = shim_files.read_untrusted_json(control, "executor.json") or {}
        return replace(parse_exit_record(content), executor_exit_code=own.get("exit_code"))

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        with self.world.lock():
            run = self.world.read_run(f"{handle['job']}-{handle['attempt']}")
            if run is None or run.stop_at is not None or run.nodes[0] not in self._reachable_parts(run):
                return
            self.world.write_run(replace(run, stop_at=self.world.now()))

    def kill(self, handle: Handle) -> None:
        """Ends the parts on nodes that answer. The others go on and are listed once their nodes answer again."""
        with self.world.lock():
            run = self.world.read_run(f"{handle['job']}-{handle['attempt']}")
            if run is None:
                return
            reached, now = self._reachable_parts(run), self.world.now()
            if run.nodes[0] in reached and run.began_at is not None:
                write_end(replace(run, stop_at=run.stop_at or now), now)
            self.world.end_parts(run, reached)

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """Ends the parts of a gang that have outlived their launcher."""
        if has_ended:
            return 0
        with self.world.lock():
            run = self.world.read_run(run_key(folder))
            if run is None:
                return 0
            reached = self._reachable_parts(run)
            self.world.end_parts(run, reached)
            return len(reached)

    def remove_ended_except(self, known: Collection[tuple[int, int]]) -> None:
        """Cancels slow starts of attempts that are not in `known`."""
        with self.world.lock():
            for run in self.world.runs():
                if run.began_at is None and (run.job, run.attempt) not in known:
                    self.world.remove_run(run.key)


def run_key(folder: Path) -> str:
    """The attempt's key. The attempt's folder ends in `<job>/<attempt>`."""
    return f"{folder.parent.name}-{folder.name}"


def read_start_marker_file(folder: Path) -> dict[str, Any] | None:
    return shim_files.read_untrusted_marker(str(folder / "control"), "started")


def read_simulated_handle(folder: Path) -> Handle | None:
    """Returns None if no shim has begun or if the start was prevented."""
    started = read_start_marker_file(folder)
    return started if started is not None and started.get("simulated") else None
