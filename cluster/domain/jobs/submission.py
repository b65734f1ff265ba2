"""The states of a job and the events between them; the checks on a job that somebody submits."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.domain.errors import Refused
from cluster.domain.names import check_job_name
from cluster.domain.queue.reasons import WaitingReason
from cluster.domain.queue.start_estimate import StartEstimate
from cluster.domain.states import Launcher, TrainingKind, UnitKind

LONGEST_TIME_LIMIT = 366 * 24 * 3600
SHORTEST_TIME_LIMIT = 60
MAX_ARGUMENTS = 1000
MAX_COMMAND_BYTES = 64 * 1024
PRIORITIES = range(-100, 101)
GRACES = range(1, 601)
RETRIES = range(11)


@dataclass(frozen=True)
class JobRequest:
    """What a form or a REST body asks for. `command`: [script, argument, …], empty for a built-in model."""

    name: str
    units: int
    launcher: Launcher = Launcher.PLAIN
    command: tuple[str, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    dataset_id: int | None = None
    priority: int = 0
    time_limit_seconds: int | None = None
    grace_seconds: int = 30
    """Between SIGTERM and SIGKILL at the time limit, and when the services stop."""
    retries: int = 0
    """How often a failed attempt is followed by another."""
    memory_bytes: int | None = None
    """Of all its units together; None: their share of the node."""


@dataclass(frozen=True)
class SubmissionWarning:
    """Something that is allowed and seldom meant; shown beside the field, never in the way."""

    field: str
    code: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class SubmissionPreview:
    """What would happen to the request now. `reason` None: it starts now, on `node`."""

    units: int
    kind: UnitKind
    reason: WaitingReason | None = None
    outlook: StartEstimate = field(default_factory=StartEstimate)
    node: str | None = None
    warnings: tuple[SubmissionWarning, ...] = ()

    @property
    def starts_now(self) -> bool:
        return self.reason is None


def check_job_request(
    request: JobRequest, training: TrainingKind, quota: int, largest_node: int | None, kind: UnitKind
) -> tuple[SubmissionWarning, ...]:
    """Raises Refused for what can never run; returns what is worth a warning.

    `largest_node` is the most working units on one node, None where no node has reported yet.
    """
    check_job_name(request.name)
    check_units(request.units, quota, largest_node, kind)
    check_launcher(request.launcher, request.units, kind)
    if request.time_limit_seconds is not None:
        check_time_limit(request.time_limit_seconds)
    check_grace(request.grace_seconds)
    check_retries(request.retries)
    if request.priority not in PRIORITIES:
        least, most = PRIORITIES[0], PRIORITIES[-1]
        raise Refused("priority", "job.priority_range", least=least, most=most)
    if training is TrainingKind.ADVANCED:
        check_command(request.command)
        return relative_path_warnings(request.command)
    if request.command:
        raise Refused("command", "job.command_of_built_in")
    return ()


def check_units(units: int, quota: int, largest_node: int | None, kind: UnitKind) -> int:
    """What is refused here would wait for ever: more than the quota, or than any node has."""
    if units < 1:
        raise Refused("units", "job.units_too_few", least=1, kind=kind.value)
    if units > quota:
        raise Refused("units", "job.units_over_quota", units=units, quota=quota, kind=kind.value)
    if largest_node is not None and units > largest_node:
        raise Refused("units", "job.units_over_node", units=units, most=largest_node, kind=kind.value)
    return units


def check_launcher(launcher: Launcher, units: int, kind: UnitKind) -> Launcher:
    """A plain program is one process: with several units it would leave all but one idle."""
    if launcher is Launcher.PLAIN and units > 1:
        raise Refused("launcher", "job.plain_is_one_process", units=units, kind=kind.value)
    return launcher


def default_launcher(units: int) -> Launcher:
    """Where nobody chose: Horovod as soon as there is more than one process to launch."""
    return Launcher.HOROVOD if units > 1 else Launcher.PLAIN


def check_time_limit(seconds: int) -> int:
    if not SHORTEST_TIME_LIMIT <= seconds <= LONGEST_TIME_LIMIT:
        raise Refused(
            "time_limit_seconds", "job.time_limit_range", least=SHORTEST_TIME_LIMIT, most=LONGEST_TIME_LIMIT
        )
    return seconds


def check_grace(seconds: int) -> int:
    if seconds not in GRACES:
        raise Refused("grace_seconds", "job.grace_range", least=GRACES[0], most=GRACES[-1])
    return seconds


def check_retries(retries: int) -> int:
    if retries not in RETRIES:
        raise Refused("retries", "job.retries_range", least=RETRIES[0], most=RETRIES[-1])
    return retries


def check_command(command: Sequence[str]) -> Sequence[str]:
    """Arguments reach the program byte for byte, so only what no argument can hold is refused."""
    if not command or not command[0].strip():
        raise Refused("command", "job.command_missing")
    if len(command) > MAX_ARGUMENTS:
        raise Refused("command", "job.too_many_arguments", most=MAX_ARGUMENTS, count=len(command))
    for position, argument in enumerate(command):
        for character in argument:
            if character == "\x7f" or (character < " " and character not in "\t\n"):
                raise Refused(
                    "command", "job.bad_argument", position=position, codepoint=f"U+{ord(character):04X}"
                )
            if "\ud800" <= character <= "\udfff":
                raise Refused("command", "job.argument_not_text", position=position)
    if sum(len(argument.encode()) + 1 for argument in command) > MAX_COMMAND_BYTES:
        raise Refused("command", "job.command_too_long", most=MAX_COMMAND_BYTES)
    return command


def relative_path_warnings(command: Sequence[str]) -> tuple[SubmissionWarning, ...]:
    """Arguments that look like relative paths: they are looked up in the job's copy of the code."""
    return tuple(
        SubmissionWarning("command", "job.relative_path", {"argument": argument, "position": position})
        for position, argument in enumerate(command)
        if position and _is_relative_path(argument)
    )


def _is_relative_path(argument: str) -> bool:
    value = argument.partition("=")[2] if argument.startswith("--") and "=" in argument else argument
    if value.startswith(("/", "-", "~", "$")) or "://" in value or any(c in value for c in "\n\t {}[]"):
        return False
    return value.startswith(("./", "../")) or value in (".", "..") or "/" in value.strip("/")


def default_job_name(training: str, number: int) -> str:
    """What the form offers: the training's name and a number that is free."""
    return f"{training}-{number}"


def split_command(line: str) -> tuple[str, ...]:
    """A command as typed in one line, by the quoting rules of a shell and nothing else of it.

    Raises Refused for a quote that is not closed.
    """
    try:
        return tuple(shlex.split(line))
    except ValueError:
        raise Refused("command", "job.quote_open") from None
