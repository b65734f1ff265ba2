"""Check a job that somebody submits."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.domain.errors import Refused
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.names import check_job_name
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.refusals import Refusals
from cluster.domain.states import JobKind, Launcher, TrainingKind, UnitKind

LONGEST_TIME_LIMIT = 366 * 24 * 3600
SHORTEST_TIME_LIMIT = 60
MAX_ARGUMENTS = 1000
MAX_COMMAND_BYTES = 64 * 1024
PRIORITIES = range(-100, 101)
GRACES = range(1, 601)
RETRIES = range(11)
DEFAULT_ENVIRONMENT_ID = 0
"""The id by which a request names the default environment, whichever that is."""


@dataclass(frozen=True)
class JobRequest:
    """The request of a form or a REST body. `command` is [script, argument, …], empty for a built-in model."""

    name: str
    units: int
    launcher: Launcher = Launcher.PLAIN
    command: tuple[str, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    dataset_id: int | None = None
    priority: int = 0
    time_limit_seconds: int | None = None
    grace_seconds: int = 30
    """Seconds between SIGTERM and SIGKILL at the time limit, and when the services stop."""
    retries: int = 0
    """The number of attempts that may follow failed ones."""
    memory_bytes: int | None = None
    """The bytes for all units together. None: their share of the node."""
    code_version: int | None = None
    """The version of own code that it runs. None: the newest."""
    environment_id: int | None = None
    """The environment in which it runs, or `DEFAULT_ENVIRONMENT_ID`. None: the one that the training names."""
    continues: ResumePoint | None = None
    """The checkpoint of another job with which it begins."""
    kind: JobKind = JobKind.PROGRAM


@dataclass(frozen=True)
class SubmissionWarning:
    """Something that is allowed but seldom intended. It is shown beside the field and prevents nothing."""

    field: str
    code: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class SubmissionPreview:
    """The outcome if the request were submitted now. `explanation` is None if it would start at once, on `node`."""

    units: int
    kind: UnitKind
    explanation: WaitingExplanation | None = None
    node: str | None = None
    warnings: tuple[SubmissionWarning, ...] = ()

    @property
    def starts_now(self) -> bool:
        return self.explanation is None


def check_job_request(
    request: JobRequest, training: TrainingKind, quota: int, largest_node: int | None, kind: UnitKind
) -> tuple[SubmissionWarning, ...]:
    """Raises Refused for every field of a request that can never run, and returns warnings.

    `largest_node` is the largest number of working units on one node, None if no node has reported yet.
    """
    refusals = Refusals()
    refusals.check(check_job_name, request.name)
    refusals.check(check_units, request.units, quota, largest_node, kind)
    refusals.check(check_launcher, request.launcher, request.units, kind)
    if request.time_limit_seconds is not None:
        refusals.check(check_time_limit, request.time_limit_seconds)
    refusals.check(check_grace, request.grace_seconds)
    refusals.check(check_retries, request.retries)
    refusals.check(check_priority, request.priority)
    if training is not TrainingKind.BUILT_IN:
        refusals.check(check_command, request.command)
    elif request.command:
        refusals.add(Refused("command", "job.command_of_built_in"))
    refusals.raise_all()
    return relative_path_warnings(request.command)


def check_units(units: int, quota: int, largest_node: int | None, kind: UnitKind) -> int:
    """Refuses a job that would wait for ever: one with more units than the quota, or than any node has."""
    if units < 1:
        raise Refused("units", "job.units_too_few", least=1, kind=kind.value)
    if units > quota:
        raise Refused("units", "job.units_over_quota", units=units, quota=quota, kind=kind.value)
    if largest_node is not None and units > largest_node:
        raise Refused("units", "job.units_over_node", units=units, most=largest_node, kind=kind.value)
    return units


def check_launcher(launcher: Launcher, units: int, kind: UnitKind) -> Launcher:
    """Refuses a plain program on several units, because it is one process and would use one unit only."""
    if launcher is Launcher.PLAIN and units > 1:
        raise Refused("launcher", "job.plain_is_one_process", units=units, kind=kind.value)
    return launcher


def default_launcher(units: int) -> Launcher:
    """The launcher if nobody chose one: Horovod if there is more than one process."""
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


def check_priority(priority: int) -> int:
    if priority not in PRIORITIES:
        raise Refused("priority", "job.priority_range", least=PRIORITIES[0], most=PRIORITIES[-1])
    return priority


def check_retries(retries: int) -> int:
    if retries not in RETRIES:
        raise Refused("retries", "job.retries_range", least=RETRIES[0], most=RETRIES[-1])
    return retries


def check_command(command: Sequence[str]) -> Sequence[str]:
    """Refuses only characters that no argument can contain, because arguments reach the program unchanged."""
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
    """Warns of arguments that look like relative paths, because they are relative to the job's copy of the code."""
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
    """The name that the form offers: the training's name and an unused number."""
    return f"{training}-{number}"


def split_command(line: str) -> tuple[str, ...]:
    """Splits a line by the quoting rules of a shell, without its other rules.

    Raises Refused for a quote that is not closed.
    """
    try:
        return tuple(shlex.split(line))
    except ValueError:
        raise Refused("command", "job.quote_open") from None
