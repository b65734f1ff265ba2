"""The contract of all executors: start once, list, report the state, stop, and read how an attempt ended."""

import errno
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cluster.domain.errors import Unavailable
from cluster.domain.executors import ExecutorCapabilities
from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord

Handle = Mapping[str, Any]
"""How an executor finds its run again, plain JSON for the attempt's row: for processes boot id, pid and
start ticks of the shim; the scheduler never looks inside."""


DISK_FULL = "start.disk_full"


class NotStarted(Unavailable):
    """The executor could not start it now; nothing runs, and asking again is safe."""


def start_problem_of(text: str, number: int | None) -> NotStarted:
    """`number` is the errno of the call that failed: a full disk is no fault of the node."""
    if number in (errno.ENOSPC, errno.EDQUOT):
        return NotStarted(DISK_FULL, reason=text)
    return NotStarted("start.failed", reason=text)


class StartUnanswered(NotStarted):
    """The system that would start the attempt does not answer: the start deadline does not run meanwhile."""


class ExecutorUnreachable(Unavailable):
    """The system behind the executor does not answer: the state is unknown, and no conclusion may be drawn."""


@dataclass(frozen=True)
class Mount:
    """A file or folder of this machine that a container sees read-only."""

    source: Path
    target: Path


@dataclass(frozen=True)
class SandboxSpec:
    """What the program of a root shim sees of this machine's files (worker/inside/shim_sandbox.py)."""

    hidden: tuple[Path, ...]
    shown: tuple[Path, ...]
    """Beneath the hidden ones; the attempt's `out` is shown in any case."""
    uids: tuple[int, int]
    """The first and the last number that a job of this installation may run as."""

    def to_json(self) -> dict[str, Any]:
        return {
            "hidden": [str(folder) for folder in self.hidden],
            "shown": [str(folder) for folder in self.shown],
            "uids": list(self.uids),
        }


@dataclass(frozen=True)
class ProgramPlan:
    """The program of an attempt: what runs, as whom, and for how long."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    ranks: int = 1
    code: Path | None = None
    """Copied to `out/work`, which then is the working folder; None: the program works in `out`.

    As the shim finds it.
    """
    uid: int | None = None
    """Who the program runs as; None: as ourselves, where we are not root."""
    gid: int | None = None
    services: tuple[int, int] | None = None
    """Number and group of services that are not root, and yet read what the program writes."""
    time_limit_seconds: int | None = None
    grace_seconds: int = 30
    """Between the polite signal and the other one, at the time limit and in a patient stop."""
    most_open_files: int = 65_536

    def to_json(self) -> dict[str, Any]:
        return {
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "ranks": self.ranks,
            "code": str(self.code) if self.code else None,
            "uid": self.uid,
            "gid": self.gid,
            "readers_gid": self.services[1] if self.services else None,
            "time_limit_seconds": self.time_limit_seconds,
            "grace_seconds": self.grace_seconds,
            "nofile": self.most_open_files,
        }


@dataclass(frozen=True)
class PlacementPlan:
    """The units of an attempt, and its share of the nodes that have them."""

    units: int = 1
    nodes: tuple[str, ...] = ()
    """Of a gang, the first one with the launcher. Empty: the scheduler's own machine."""
    units_by_node: tuple[tuple[str, int], ...] = ()
    """How many of the units are on which node, in the order of `nodes`."""
    gang: str = "none"
    """Where it is several pods: how its ranks find each other (worker/kubernetes/manifests/run_spec.py)."""
    gpus: tuple[str, ...] = ()
    """UUIDs; empty: every GPU is hidden."""
    gpu_minors: Mapping[str, int] = field(default_factory=dict)
    """By UUID, the number in the name of the GPU's device file on its node."""
    telemetry: Path | None = None
    """The newest measurements of the node's GPUs, written by its agent."""
    memory_bytes: int | None = None
    """With `cpus` the part of its first node."""
    cpus: float | None = None
    most_processes: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "nodes": len(self.nodes),
            "gpus": list(self.gpus),
            "gpu_minors": dict(self.gpu_minors),
            "telemetry": str(self.telemetry) if self.telemetry else None,
            "memory_bytes": self.memory_bytes,
            "most_processes": self.most_processes,
        }


@dataclass(frozen=True)
class ContainerPlan:
    """What a container or pod needs besides; a process needs none of it."""

    image: str | None = None
    mounts: tuple[Mount, ...] = ()
    """Without the attempt's own folders."""
    folder_inside: Path | None = None
    """Where the shim and the program find the attempt's folder; None: where it is."""


@dataclass(frozen=True)
class StartPlan:
    """One attempt, ready to be started; written to `control/plan.json` as it is."""

    job: int
    attempt: int
    """The attempt's number, which is also its fence."""
    folder: Path
    """The attempt's own folder on the shared storage."""
    program: ProgramPlan
    placement: PlacementPlan = PlacementPlan()
    container: ContainerPlan = ContainerPlan()
    sandbox: SandboxSpec | None = None
    """None: the program sees the machine as it is, because we are not root or a container does this."""

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def to_json(self) -> dict[str, Any]:
        out = (self.container.folder_inside or self.folder) / "out"
        return {
            "job": self.job,
            "attempt": self.attempt,
            "fence": self.attempt,
            "out": str(out),
            "cwd": str(out / "work" if self.program.code else out),
            **self.program.to_json(),
            **self.placement.to_json(),
            "sandbox": self._sandbox_to_json(),
        }

    def _sandbox_to_json(self) -> dict[str, Any] | None:
        if self.sandbox is None:
            return None
        return self.sandbox.to_json() | {"memory_bytes": self.placement.memory_bytes}


@dataclass(frozen=True)
class RunStatus:
    """What the executor sees of one attempt right now."""

    observed: ObservedState
    handle: Handle | None = None
    is_of_this_boot: bool = True
    """False: the machine has started anew since; whatever ran is gone."""
    start_problem: NotStarted | None = None
    """Of one that is awaited: what keeps it, where that is known."""


@dataclass(frozen=True)
class RunningAttempt:
    """A living run, as the executor finds it without asking the database."""

    job: int
    attempt: int
    folder: Path
    handle: Handle = field(hash=False)


class Executor(Protocol):
    """Every call is safe to repeat; none keeps anything in memory that a restart would lose.

    Where the executor itself does not answer, `read_status` says UNKNOWN and the other questions raise
    ExecutorUnreachable.
    """

    @property
    def capabilities(self) -> ExecutorCapabilities:
        """Those of its kind, by which services and start plans decide."""
        ...

    def start(self, plan: StartPlan) -> Handle | None:
        """Starts it, or returns the handle of the run that already stands there. Raises NotStarted.

        None: it is taken up and on its way; `read_status` says PENDING until its shim has begun.
        """
        ...

    def prevent_start(self, folder: Path) -> bool:
        """Makes sure that no late start of this attempt can begin any more; False: it has begun."""
        ...

    def read_status(self, folder: Path) -> RunStatus: ...

    def list_running(self) -> list[RunningAttempt]:
        """Every run of ours that lives, whoever started it."""
        ...

    def read_exit_record(self, folder: Path) -> ExitRecord | None:
        """What the shim wrote last, and the executor's own exit code where it has one.

        Counts only once `read_status` says that it is gone.
        """
        ...

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        """Asks the run to end its whole tree; returns at once.

        `patiently`: the program has its grace time first, to save a checkpoint.
        """
        ...

    def kill(self, handle: Handle) -> None:
        """Ends the whole tree now."""
        ...

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """Ends what a killed shim has left behind; how many processes that were. Raises ExecutorUnreachable.

        `has_ended`: the shim has said how it ended, and with it its own tree; members elsewhere may still run.
        `given_up`: nodes that are lost or have started anew; nobody waits for what was on one that does not answer.
        On any other silent node it may go on, and counts.
        """
        ...

    def remove_ended_except(self, known: Collection[tuple[int, int]]) -> None:
        """Removes what ended runs have left with the executor, except of these (job, attempt) numbers."""
        ...
