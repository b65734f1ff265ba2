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
"""The data with which an executor finds its run again, as plain JSON for the attempt's row. For processes these are
boot id, pid and start ticks of the shim. The scheduler does not interpret them.
"""


DISK_FULL = "start.disk_full"


class NotStarted(Unavailable):
    """The executor cannot start the attempt now. Nothing runs, and the start can be tried again."""


def start_problem_of(text: str, number: int | None) -> NotStarted:
    """The error for a start that failed with `number`, an errno. A full disk is not counted against the node."""
    if number in (errno.ENOSPC, errno.EDQUOT):
        return NotStarted(DISK_FULL, reason=text)
    return NotStarted("start.failed", reason=text)


class StartUnanswered(NotStarted):
    """The system that would start the attempt does not answer. This time does not count
    towards the start deadline.
    """


class ExecutorUnreachable(Unavailable):
    """The system behind the executor does not answer. The state is unknown, so the caller
    must not conclude anything.
    """


@dataclass(frozen=True)
class Mount:
    """A file or folder of this machine that a container sees, read-only unless `is_writable`."""

    source: Path
    target: Path
    is_writable: bool = False


@dataclass(frozen=True)
class SandboxSpec:
    """The files of this machine that a program under a root shim can see (worker/inside/shim_sandbox.py)."""

    hidden: tuple[Path, ...]
    shown: tuple[Path, ...]
    """Folders below hidden ones that stay visible. The attempt's `out` is always visible."""
    uids: tuple[int, int]
    """The first and the last uid as which a job of this installation may run."""
    written: tuple[Path, ...] = ()
    """Folders beside `out` that the program may write. Nobody but us can replace one by a link: their parents are
    ours.
    """

    def to_json(self) -> dict[str, Any]:
        return {
            "hidden": [str(folder) for folder in self.hidden],
            "shown": [str(folder) for folder in self.shown],
            "written": [str(folder) for folder in self.written],
            "uids": list(self.uids),
        }


@dataclass(frozen=True)
class ProgramPlan:
    """The program of an attempt: its command, its user and its time limits."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    ranks: int = 1
    code: Path | None = None
    """The folder that is copied to `out/work`, which becomes the working folder. None: the program works in `out`.

    The path is the one under which the shim finds the folder.
    """
    uid: int | None = None
    """The uid of the program. None: the scheduler is not root, and the program runs as its user."""
    gid: int | None = None
    services: tuple[int, int] | None = None
    """The uid and gid of services that are not root but have to read what the program writes."""
    time_limit_seconds: int | None = None
    grace_seconds: int = 30
    """Seconds between SIGTERM and SIGKILL, at the time limit and in a patient stop."""
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
    """The nodes of a gang; the launcher is on the first one. Empty: the scheduler's own machine."""
    units_by_node: tuple[tuple[str, int], ...] = ()
    """The number of units of the attempt on each node, in the order of `nodes`."""
    gang: str = "none"
    """The way in which the ranks of several pods find each other (worker/kubernetes/manifests/run_spec.py)."""
    gpus: tuple[str, ...] = ()
    """The UUIDs of the attempt's GPUs. Empty: every GPU is hidden."""
    gpu_minors: Mapping[str, int] = field(default_factory=dict)
    """The number in the name of a GPU's device file on its node, by UUID."""
    telemetry: Path | None = None
    """The file with the newest measurements of the node's GPUs, written by its agent."""
    memory_bytes: int | None = None
    """The memory limit of the attempt's part on its first node. `cpus` is that part's CPU limit."""
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
    """The values that a container or pod needs in addition to the program. A process needs none of them."""

    image: str | None = None
    mounts: tuple[Mount, ...] = ()
    """The mounts besides the attempt's own folders."""
    folder_inside: Path | None = None
    """The path under which shim and program find the attempt's folder. None: it is the same as outside."""


@dataclass(frozen=True)
class StartPlan:
    """Everything that an executor needs to start one attempt, as it is written to `control/plan.json`."""

    job: int
    attempt: int
    """The attempt's number, which is also its fence."""
    folder: Path
    """The attempt's own folder on the shared storage."""
    program: ProgramPlan
    placement: PlacementPlan = PlacementPlan()
    container: ContainerPlan = ContainerPlan()
    sandbox: SandboxSpec | None = None
    """None: the program can see all files of the machine, because we are not root or a container hides them."""

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
    """The state of one attempt as the executor reports it now."""

    observed: ObservedState
    handle: Handle | None = None
    is_of_this_boot: bool = True
    """False: the machine has rebooted since the start, so nothing of the run can be alive."""
    start_problem: NotStarted | None = None
    """The reason that delays an awaited start, if it is known."""


@dataclass(frozen=True)
class RunningAttempt:
    """A run that is alive, as the executor finds it without the database."""

    job: int
    attempt: int
    folder: Path
    handle: Handle = field(hash=False)


class Executor(Protocol):
    """Every call can be repeated. An executor keeps nothing in memory that a restart would lose.

    If the system behind the executor does not answer, `read_status` returns UNKNOWN and the other calls raise
    ExecutorUnreachable.
    """

    @property
    def capabilities(self) -> ExecutorCapabilities:
        """The capabilities of this kind of executor. Services and start plans ask them instead of the executor's
        name.
        """
        ...

    def start(self, plan: StartPlan) -> Handle | None:
        """Starts the attempt, or returns the handle of the run that exists already. Raises NotStarted.

        None: the start is accepted but not complete. `read_status` returns PENDING until the shim has begun.
        """
        ...

    def prevent_start(self, folder: Path) -> bool:
        """Makes sure that the attempt can no longer begin. Returns False if it has begun already."""
        ...

    def read_status(self, folder: Path) -> RunStatus: ...

    def find_notebook(self, folder: Path) -> str:
        """Host and port at which this machine reaches a notebook. Empty if it has none yet, and for a notebook of this
        machine, which listens on a socket.
        """
        ...

    def list_running(self) -> list[RunningAttempt]:
        """All runs of this installation that are alive, whichever scheduler started them."""
        ...

    def read_exit_record(self, folder: Path) -> ExitRecord | None:
        """The shim's exit record, with the executor's own exit code if it has one.

        The record is final only after `read_status` has reported the end.
        """
        ...

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        """Asks the run to end with all its processes, and returns at once.

        `patiently`: the program gets its grace time first, so that it can save a checkpoint.
        """
        ...

    def kill(self, handle: Handle) -> None:
        """Ends all processes of the run now."""
        ...

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """Ends the processes that a killed shim has left, and returns how many there were. Raises
        ExecutorUnreachable.

        `has_ended`: the shim has written its exit record and has ended its own processes; other pods of a gang may
        still run. `given_up`: nodes that are lost or have rebooted; leftovers there are not waited for. Leftovers on
        any other node that does not answer count, because they may still run.
        """
        ...

    def remove_ended_except(self, known: Collection[tuple[int, int]]) -> None:
        """Removes what ended runs have left with the executor, except the runs of these (job, attempt) numbers."""
        ...
