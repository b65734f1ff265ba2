"""The parameters of a job, and which of them differ between the jobs of a list."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OPTION = re.compile(r"--?([A-Za-z_][A-Za-z0-9_.-]*)(?:=(.*))?", re.DOTALL)
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)=(.*)", re.DOTALL)
PLACE_PREFIX = "argument "
"""The word that names an argument without a name, before its number."""
SET = "on"
"""The value that is shown for an option without a value."""
MAX_PARAMETERS = 100

Parameters = Mapping[str, str]


@dataclass(frozen=True)
class ComparedJob:
    """Jobs of one `group` (a training) are compared with one another."""

    job_id: int
    group: Hashable
    parameters: Parameters


def job_parameters(variables: Mapping[str, Any], command: Sequence[str]) -> dict[str, str]:
    """The variables of a built-in model, or the script and its arguments: `--name value`, `--name=value`, `name=value`.

    An argument without a name is called by its place: `argument 2`.
    """
    found = {name: str(value) for name, value in variables.items()}
    if command:
        found["script"] = command[0]
    arguments = list(command[1:])
    place = 0
    while place < len(arguments) and len(found) < MAX_PARAMETERS:
        text = arguments[place]
        place += 1
        option = OPTION.fullmatch(text)
        if option is None:
            assignment = ASSIGNMENT.fullmatch(text)
            name, value = assignment.groups() if assignment else (f"{PLACE_PREFIX}{place}", text)
        elif option[2] is not None:
            name, value = option.groups()
        elif place < len(arguments) and not OPTION.fullmatch(arguments[place]):
            name, value = option[1], arguments[place]
            place += 1
        else:
            name, value = option[1], SET
        found[name] = value
    return found


def differing_names(parameters: Sequence[Parameters]) -> list[str]:
    """The parameters whose values are not the same in all jobs, in the order of their first appearance."""
    names = dict.fromkeys(name for each in parameters for name in each)
    return [name for name in names if len({each.get(name) for each in parameters}) > 1]


def differing_parameters(jobs: Iterable[ComparedJob]) -> dict[int, dict[str, str]]:
    """Returns job id → the job's values of the parameters that differ within its group. A job that is alone in its
    group has none.
    """
    groups: dict[Hashable, list[ComparedJob]] = {}
    for job in jobs:
        groups.setdefault(job.group, []).append(job)
    found: dict[int, dict[str, str]] = {}
    for group in groups.values():
        names = differing_names([job.parameters for job in group])
        for job in group:
            found[job.job_id] = {name: job.parameters[name] for name in names if name in job.parameters}
    return found
