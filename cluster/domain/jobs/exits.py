"""Parse the shim's `exit.json`, and give the codes that exit codes and signals mean."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from cluster.domain.jobs.headline_metric import Objective, parse_objective
from cluster.domain.jobs.results import MetricResults, check_metric_name, parse_results

SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    31: "SIGSYS",
}
"""The Linux numbers of signals (signal(7)) that end a program and whose names people know."""


CODE_OF_SIGNAL = {
    2: "exit.interrupt_key",
    6: "exit.aborted",
    9: "exit.killed",
    11: "exit.segmentation_fault",
    15: "exit.terminated",
    25: "exit.file_too_large",
}


CODE_OF_EXIT = {
    0: "exit.finished",
    1: "exit.error",
    2: "exit.wrong_usage",
    126: "exit.not_executable",
    127: "exit.command_not_found",
}


def meaning_of_status(exit_code: int | None, signal: int | None = None) -> tuple[str, dict[str, Any]]:
    """The code and data of an exit status. An exit code above 128 is a shell's notation for a signal."""
    if signal is None and exit_code is not None and 128 < exit_code <= 128 + 64:
        signal = exit_code - 128
    if signal is not None:
        known = {"signal": signal, "signal_name": SIGNALS.get(signal, f"SIG{signal}")}
        return CODE_OF_SIGNAL.get(signal, "exit.signal"), {"exit_code": 128 + signal} | known
    if exit_code is None:
        return "exit.lost", {}
    return CODE_OF_EXIT.get(exit_code, "exit.other"), {"exit_code": exit_code}


Value = TypeVar("Value")

LARGEST_RECORD = 256 * 1024
MAX_RANKS = 4096


@dataclass(frozen=True)
class RankExit:
    """The end of one rank's program. Both fields are None if it never began or its end is unknown."""

    rank: int
    exit_code: int | None = None
    signal: int | None = None

    @property
    def has_failed(self) -> bool:
        return bool(self.exit_code) or self.signal is not None


@dataclass(frozen=True)
class Disruption:
    """The platform removed a part of the running job through no fault of the job. It is a
    code with words and data.
    """

    code: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ExitRecord:
    """The validated `exit.json`. Sizes are bytes. `error` is a code if the shim itself could not continue."""

    job: int = 0
    attempt: int = 0
    fence: int = 0
    exit_code: int | None = None
    signal: int | None = None
    stopped: bool = False
    timed_out: bool = False
    out_of_memory: bool = False
    ranks: tuple[RankExit, ...] = ()
    first_failed_rank: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    cpu_seconds: float | None = None
    max_rss_bytes: int | None = None
    average_rss_bytes: int | None = None
    """The mean over the time that it ran."""
    unit_seconds_used: float | None = None
    """The seconds in which its units worked, summed: by GPU utilisation, or CPU time on slots."""
    left_behind: int = 0
    """The number of processes that the program had left running and that the shim ended."""
    error: str | None = None
    memory_limit_bytes: int | None = None
    process_limit: int | None = None
    """The limit of processes and threads, if the program was refused another one."""
    executor_exit_code: int | None = None
    """The executor's own exit code, which is not in the file."""
    disruption: Disruption | None = None
    """The disruption that ended the attempt, which is not in the file."""
    results: MetricResults = field(default_factory=dict)
    objective: Objective | None = None
    """The metric that the program named as its objective."""
    not_finite: str | None = None
    """The first loss that was NaN or infinite. Without root the program could have written it itself."""
    disk_full: bool = False
    """Whether the disk was full when the attempt ended, or when the shim wrote its record."""
    out_bytes: int | None = None
    """The bytes that its `out` folder takes on the disk. None if they were not counted."""

    def is_of(self, job: int, attempt: int, fence: int) -> bool:
        """Whether the record belongs to this attempt. A copied file of another attempt does not count."""
        return (self.job, self.attempt, self.fence) == (job, attempt, fence)


UNREADABLE_RECORD = "exit.truth_unreadable"


def parse_exit_record(content: str | bytes) -> ExitRecord:
    """Always returns a record. If a field is missing, of the wrong type or too large, `error` says so."""
    if len(content) > LARGEST_RECORD:
        return ExitRecord(error=UNREADABLE_RECORD)
    try:
        return _read_truth(json.loads(content))
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return ExitRecord(error=UNREADABLE_RECORD)


def parse_usage(content: str | bytes) -> ExitRecord | None:
    """The numbers of a shim's last measurement (`usage.json`). None if they are invalid."""
    try:
        found = json.loads(content)
        return ExitRecord(
            cpu_seconds=_maybe(found.get("cpu_seconds"), _number),
            max_rss_bytes=_maybe(found.get("max_rss_bytes"), _whole),
            average_rss_bytes=_maybe(found.get("average_rss_bytes"), _whole),
            unit_seconds_used=_maybe(found.get("unit_seconds_used"), _number),
        )
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _read_truth(found: Any) -> ExitRecord:
    """Reads the fields. Unknown keys are ignored."""
    if not isinstance(found, dict):
        raise TypeError("not an object")
    ranks = found["ranks"]
    if not isinstance(ranks, list) or len(ranks) > MAX_RANKS:
        raise TypeError("ranks")
    return ExitRecord(
        job=_whole(found["job"]),
        attempt=_whole(found["attempt"]),
        fence=_whole(found["fence"]),
        exit_code=_maybe(found["exit_code"], _exit_code),
        signal=_maybe(found["signal"], _signal),
        stopped=_flag(found["stopped"]),
        timed_out=_flag(found["timed_out"]),
        out_of_memory=_flag(found["out_of_memory"]),
        ranks=tuple(
            RankExit(
                _whole(rank["rank"]),
                _maybe(rank.get("exit_code"), _exit_code),
                _maybe(rank.get("signal"), _signal),
            )
            for rank in ranks
        ),
        first_failed_rank=_maybe(found["first_failed_rank"], _whole),
        started_at=_maybe(found["started_at"], _moment),
        ended_at=_maybe(found["ended_at"], _moment),
        cpu_seconds=_maybe(found.get("cpu_seconds"), _number),
        max_rss_bytes=_maybe(found.get("max_rss_bytes"), _whole),
        average_rss_bytes=_maybe(found.get("average_rss_bytes"), _whole),
        unit_seconds_used=_maybe(found.get("unit_seconds_used"), _number),
        left_behind=_whole(found.get("left_behind", 0)),
        error=_maybe(found.get("error"), _code),
        results=parse_results(found.get("results") or {}),
        objective=parse_objective(found.get("objective")),
        not_finite=_maybe(found.get("not_finite"), check_metric_name),
        memory_limit_bytes=_maybe(found.get("memory_limit_bytes"), _whole),
        process_limit=_maybe(found.get("process_limit"), _whole),
        disk_full=_flag(found.get("disk_full", False)),
        out_bytes=_maybe(found.get("out_bytes"), _whole),
    )


def _maybe(found: Any, read: Callable[[Any], Value]) -> Value | None:
    return None if found is None else read(found)


def _whole(found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 2**62:
        raise TypeError(found)
    return found


def _exit_code(found: Any) -> int:
    if _whole(found) > 255:
        raise ValueError(found)
    return int(found)


def _signal(found: Any) -> int:
    if not 1 <= _whole(found) <= 64:
        raise ValueError(found)
    return int(found)


def _flag(found: Any) -> bool:
    if not isinstance(found, bool):
        raise TypeError(found)
    return found


def _number(found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found) or found < 0:
        raise TypeError(found)
    return float(found)


def _moment(found: Any) -> datetime:
    moment = datetime.fromisoformat(found)
    if moment.tzinfo is None:
        raise ValueError(found)
    return moment


def _code(found: Any) -> str:
    if not isinstance(found, str) or not found.startswith("exit.") or len(found) > 60:
        raise TypeError(found)
    if not found[5:].replace("_", "").isalpha() or not found.isascii():
        raise ValueError(found)
    return found
