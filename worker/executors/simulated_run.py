"""Advances one simulated run in time, and writes the files that a real shim and its program would write."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from worker.inside.shim_files import create_json_once, write_json_atomically

GRACE_SECONDS = 5.0
"""The seconds that a real shim waits before it kills a program that ignores SIGTERM."""
MOST_LOG_BYTES = 4 * 1024**2
CUT_MARK = b"\ngroundcrew: simulated: the log is longer, the rest was not kept\n"
LABEL = "simulated: no program runs\n"


@dataclass(frozen=True)
class Behaviour:
    """The actions of a simulated program, and the faults that it meets. Times are seconds."""

    seconds: float = 60.0
    stdout: str = ""
    """The standard output of each rank."""
    exit_code: int = 0
    stop_output: str = ""
    """The text that it writes when it is asked to stop."""
    ignores_stop: bool = False
    executor_exit_code: int | None = None
    """An exit code that the executor reports instead of the shim's; it may contradict the exit record."""
    loses_shim_after: float | None = None
    log_bytes_per_second: int = 0


@dataclass(frozen=True)
class SimulatedRun:
    """One attempt that was started and is not over. `alive` are the nodes whose part still runs."""

    job: int
    attempt: int
    folder: str
    nodes: tuple[str, ...]
    """The nodes of the run. The launcher and its shim are on the first one."""
    boots: dict[str, str]
    ranks: int
    behaviour: Behaviour
    ready_at: float
    time_limit: float | None = None
    began_at: float | None = None
    stop_at: float | None = None
    alive: tuple[str, ...] = field(default=())
    output_bytes: int = 0

    @property
    def key(self) -> str:
        return f"{self.job}-{self.attempt}"

    @property
    def has_lost_a_part(self) -> bool:
        return set(self.alive) != set(self.nodes)


def start_marker(run: SimulatedRun) -> dict[str, Any]:
    """The contents of `started`, which are the handle too."""
    return {"simulated": True, "job": run.job, "attempt": run.attempt, "boots": run.boots}


def advance_run(run: SimulatedRun, now: float) -> SimulatedRun | None:
    """The run as it is at `now`, with its files written up to then. None if it is over."""
    if not run.alive:
        return None
    if run.began_at is None:
        return run if now < run.ready_at else begin_simulated_run(run)
    end = end_time(run)
    run = write_output(run, min(now, end))
    if end > now:
        return run
    if end < shim_loss_time(run) and run.nodes[0] in run.alive:
        write_end(run, end)
    return None


def begin_simulated_run(run: SimulatedRun) -> SimulatedRun | None:
    """Creates the start marker. Returns None if the start was prevented or another shim was first."""
    folder = Path(run.folder)
    if not create_json_once(str(folder / "control" / "started"), start_marker(run)):
        return None
    out = folder / "out"
    out.mkdir(exist_ok=True)
    (out / "launcher.stdout").write_text(LABEL)
    (out / "launcher.stderr").touch()
    for rank in range(run.ranks):
        (out / f"rank-{rank}.stdout").write_text(run.behaviour.stdout)
        (out / f"rank-{rank}.stderr").touch()
    return replace(run, began_at=run.ready_at)


def end_time(run: SimulatedRun) -> float:
    """Returns the end if nothing else happens. A gang that has lost a part hangs and never ends by itself."""
    assert run.began_at is not None
    behaviour = run.behaviour
    moments = [] if run.has_lost_a_part else [run.began_at + behaviour.seconds]
    if run.stop_at is not None:
        moments.append(run.stop_at + (GRACE_SECONDS if behaviour.ignores_stop else 0.0))
    if run.time_limit is not None:
        moments.append(run.began_at + run.time_limit)
    return min([*moments, shim_loss_time(run)])


def shim_loss_time(run: SimulatedRun) -> float:
    """Returns the time at which the shim is killed."""
    after = run.behaviour.loses_shim_after
    return float("inf") if after is None or run.began_at is None else run.began_at + after


def write_output(run: SimulatedRun, until: float) -> SimulatedRun:
    """Writes the output up to this moment. A flood of log is cut at a limit, with a mark."""
    assert run.began_at is not None
    due = min(int((until - run.began_at) * run.behaviour.log_bytes_per_second), MOST_LOG_BYTES)
    if due <= run.output_bytes:
        return run
    with (Path(run.folder) / "out" / "rank-0.stdout").open("ab") as log:
        log.write(b"x" * (due - run.output_bytes))
        if due == MOST_LOG_BYTES:
            log.write(CUT_MARK)
    return replace(run, output_bytes=due)


def write_end(run: SimulatedRun, end: float) -> None:
    """Writes the exit record, as a shim does last."""
    assert run.began_at is not None
    behaviour, out = run.behaviour, Path(run.folder) / "out"
    stopped = run.stop_at is not None and run.stop_at <= end
    timed_out = not stopped and run.time_limit is not None and end >= run.began_at + run.time_limit
    if stopped and behaviour.stop_output and not behaviour.ignores_stop:
        for rank in range(run.ranks):
            with (out / f"rank-{rank}.stdout").open("a") as log:
                log.write(behaviour.stop_output)
    signal = (9 if behaviour.ignores_stop else 15) if stopped or timed_out else None
    exit_code = behaviour.exit_code if signal is None else 128 + signal
    ranks = [{"rank": rank, "exit_code": exit_code, "signal": signal} for rank in range(run.ranks)]
    truth = {
        "simulated": True,
        "job": run.job,
        "attempt": run.attempt,
        "fence": run.attempt,
        "exit_code": exit_code,
        "signal": signal,
        "ranks": ranks,
        "first_failed_rank": 0 if exit_code else None,
        "stopped": stopped,
        "timed_out": timed_out,
        "out_of_memory": False,
        "started_at": iso_time(run.began_at),
        "ended_at": iso_time(end),
        "cpu_seconds": (end - run.began_at) * run.ranks,
        "max_rss_bytes": 0,
        "left_behind": 0,
        "error": None,
    }
    control = Path(run.folder) / "control"
    if behaviour.executor_exit_code is not None:
        write_json_atomically(str(control / "executor.json"), {"exit_code": behaviour.executor_exit_code})
    write_json_atomically(str(control / "exit.json"), truth)


def iso_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
