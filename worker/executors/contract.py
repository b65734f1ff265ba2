"""The contract of all executors: start once, list, report the state, stop, and read how an attempt ended."""

import errno
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cluster.domain.errors import Unavailable
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


@dataclass(frozen=True)
class StartPlan:
    """One attempt, ready to be started; written to `control/plan.json` as it is."""

    job: int
    attempt: int
    """The attempt's number, which is also its fence."""
    folder: Path
    """The attempt's own folder on the shared storage."""
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
    most_open_files: int = 65_536
    nodes: tuple[str, ...] = ()
    """Of a gang, the first one with the launcher. Empty: the scheduler's own machine."""
    units_by_node: tuple[tuple[str, int], ...] = ()
    """How many of the units are on which node, in the order of `nodes`."""
    gang: str = "none"
    """Where it is several pods: how its ranks find each other (worker/kubernetes/manifests/run_spec.py)."""
    gpus: tuple[str, ...] = ()
    """UUIDs; empty: every GPU is hidden."""
    image: str | None = None
    mounts: tuple[Mount, ...] = ()
    """What a container needs besides the attempt's own folders. A process sees the machine as it is."""
    folder_inside: Path | None = None
    """Where the shim and the program find `folder`; None: where it is."""
    grace_seconds: int = 30
    """Between the polite signal and the other one, at the time limit and in a patient stop."""
    units: int = 1
    telemetry: Path | None = None
    """The newest measurements of the node's GPUs, written by its agent."""
    memory_bytes: int | None = None
    """With `cpus` the part of its first node."""
    cpus: float | None = None
    most_processes: int | None = None
    gpu_minors: Mapping[str, int] = field(default_factory=dict)
    """By UUID, the number in the name of the GPU's device file on its node."""
    sandbox: SandboxSpec | None = None
    """None: the program sees the machine as it is, because we are not root or a container does this."""

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def to_json(self) -> dict[str, Any]:
        out = (self.folder_inside or self.folder) / "out"
        return {
            "job": self.job,
            "attempt": self.attempt,
            "fence": self.attempt,
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "ranks": self.ranks,
            "nodes": len(self.nodes),
            "out": str(out),
            "cwd": str(out / "work" if self.code else out),
            "code": str(self.code) if self.code else None,
            "uid": self.uid,
            "gid": self.gid,
            "readers_gid": self.services[1] if self.services else None,
            "time_limit_seconds": self.time_limit_seconds,
            "grace_seconds": self.grace_seconds,
            "units": self.units,
            "gpus": list(self.gpus),
            "telemetry": str(self.telemetry) if self.telemetry else None,
            "nofile": self.most_open_files,
            "memory_bytes": self.memory_bytes,
            "most_processes": self.most_processes,
            "gpu_minors": dict(self.gpu_minors),
            "sandbox": self._sandbox_to_json(),
        }

    def _sandbox_to_json(self) -> dict[str, Any] | None:
        if self.sandbox is None:
            return None
        return {
            "hidden": [str(folder) for folder in self.sandbox.hidden],
            "shown": [str(folder) for folder in self.sandbox.shown],
            "uids": list(self.sandbox.uids),
            "memory_bytes": self.memory_bytes,
        }


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
