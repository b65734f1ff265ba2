"""Simulated: runs no program. Many nodes, time that a test moves, and faults that a test injects.

    world = World(folder)                       # files; any process may open the same folder
    executor = SimulatedExecutor(world)         # what the scheduler gets (GROUNDCREW_EXECUTOR=simulated:
                                                # the folder is <state>/simulated)
    world.behave(Behaviour(seconds=30, exit_code=1), job=7)   # without job: all others
    world.move(seconds=30)                      # from the first move on time stands still in between;
                                                # never moved: real time
    world.power_off(node)  power_on  reboot     # what ran there is gone; another boot
    world.cut(node)        heal                 # partition: it goes on unseen, `look` says UNKNOWN
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

from cluster.domain.attempts import Seen
from cluster.domain.exits import ExitTruth, parse_exit
from worker.executors.contract import Handle, NotStarted, Running, Sight, StartPlan
from worker.executors.simulated_life import Behaviour, Run, begin, finish, marker_of
from worker.executors.simulated_world import World
from worker.inside import shim_files

__all__ = ["Behaviour", "SimulatedExecutor", "World"]
OWN_NODE = "simulated"
"""Where a plan without nodes runs."""


class SimulatedExecutor:
    def __init__(self, world: World) -> None:
        self.world = world

    def start(self, plan: StartPlan) -> Handle:
        with self.world.lock():
            run = self.world.read_run(f"{plan.job}-{plan.attempt}")
            if run is None and read_marker(plan.folder) is None:
                run = self._accept(plan)
            if run is not None and run.began_at is None:
                raise NotStarted("start.too_slow", seconds=0)
        handle = read_handle(plan.folder)
        if handle is None:
            raise NotStarted("start.forestalled")
        return handle

    def _accept(self, plan: StartPlan) -> Run | None:
        """The new run; None where it was forestalled in the last moment."""
        nodes = [self.world.ensure_node(name) for name in plan.nodes or (OWN_NODE,)]
        for node in nodes:
            if not node.answers:
                raise NotStarted("start.failed", reason=f"{node.name} does not answer")
        control = plan.folder / "control"
        control.mkdir(parents=True, exist_ok=True)
        shim_files.write_whole(str(control / "plan.json"), plan.to_json() | {"simulated": True})
        names = tuple(node.name for node in nodes)
        now, slowest = self.world.now(), max(node.start_seconds for node in nodes)
        run: Run | None = Run(
            job=plan.job,
            attempt=plan.attempt,
            folder=str(plan.folder),
            nodes=names,
            boots={node.name: node.boot for node in nodes},
            ranks=plan.ranks,
            behaviour=self.world.behaviour_of(plan.job),
            ready_at=now + slowest,
            time_limit=plan.time_limit_seconds,
            alive=names,
        )
        if run is not None and slowest <= 0:
            run = begin(run)
        if run is not None:
            self.world.write_run(run)
        return run

    def forestall(self, folder: Path) -> bool:
        with self.world.lock():
            control = folder / "control"
            control.mkdir(parents=True, exist_ok=True)
            return shim_files.create_once(str(control / "started"), {"forestalled": True}) or (
                read_handle(folder) is None
            )

    def look(self, folder: Path) -> Sight:
        with self.world.lock():
            nodes = self.world.nodes()
            run = self.world.read_run(key_of(folder))
            handle = read_handle(folder)
            if handle is None:
                return Sight(Seen.ABSENT)
            of_this_boot = all(
                name in nodes and nodes[name].boot == boot for name, boot in handle["boots"].items()
            )
            if run is None and (folder / "control" / "exit.json").exists():
                return Sight(Seen.GONE, handle, of_this_boot)
            if not all(name in nodes and nodes[name].answers for name in handle["boots"]):
                return Sight(Seen.UNKNOWN, handle)
            seen = Seen.ALIVE if run is not None and of_this_boot else Seen.GONE
            return Sight(seen, handle, of_this_boot)

    def list_running(self) -> list[Running]:
        """Also those of which only a part lives, on a node that answers."""
        with self.world.lock():
            return [
                Running(run.job, run.attempt, Path(run.folder), marker_of(run))
                for run in self.world.runs()
                if run.began_at is not None and self._reachable_parts(run)
            ]

    def _reachable_parts(self, run: Run) -> tuple[str, ...]:
        nodes = self.world.nodes()
        return tuple(name for name in run.alive if nodes[name].answers)

    def read_end(self, folder: Path) -> ExitTruth | None:
        control = str(folder / "control")
        content = shim_files.read_plain(control, "exit.json")
        if content is None:
            return None
        own = shim_files.read_object(control, "executor.json") or {}
        return replace(parse_exit(content), executor_exit_code=own.get("exit_code"))

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        with self.world.lock():
            run = self.world.read_run(f"{handle['job']}-{handle['attempt']}")
            if run is None or run.stop_at is not None or run.nodes[0] not in self._reachable_parts(run):
                return
            self.world.write_run(replace(run, stop_at=self.world.now()))

    def force_stop(self, handle: Handle) -> None:
        """The parts on nodes that do not answer go on, and are listed once they answer again."""
        with self.world.lock():
            run = self.world.read_run(f"{handle['job']}-{handle['attempt']}")
            if run is None:
                return
            reached, now = self._reachable_parts(run), self.world.now()
            if run.nodes[0] in reached and run.began_at is not None:
                finish(replace(run, stop_at=run.stop_at or now), now)
            self.world.end_parts(run, reached)

    def clear(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """The parts of a gang that outlived their launcher."""
        if has_ended:
            return 0
        with self.world.lock():
            run = self.world.read_run(key_of(folder))
            if run is None:
                return 0
            reached = self._reachable_parts(run)
            self.world.end_parts(run, reached)
            return len(reached)

    def forget_all_but(self, known: Collection[tuple[int, int]]) -> None:
        """A slow start of an attempt that nobody wants any more never begins."""
        with self.world.lock():
            for run in self.world.runs():
                if run.began_at is None and (run.job, run.attempt) not in known:
                    self.world.remove_run(run.key)


def key_of(folder: Path) -> str:
    """Attempts' folders end in `<job>/<attempt>`."""
    return f"{folder.parent.name}-{folder.name}"


def read_marker(folder: Path) -> dict[str, Any] | None:
    return shim_files.read_created(str(folder / "control"), "started")


def read_handle(folder: Path) -> Handle | None:
    """None where no shim has begun, or where the start was forestalled."""
    started = read_marker(folder)
    return started if started is not None and started.get("simulated") else None
